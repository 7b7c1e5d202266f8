// The start card, which asks for the next game, and the marker that says where on the board one is.

const MARKED_TICKS = 160; // for so long the board says where one is: eight seconds at the usual pace
const STORE = "territorial"; // what the browser remembers: the values of the card, and the theme
const PATIENCE = 400; // milliseconds that the page waits for a game before it says so
const OWN = "as on the command line";

/** Returns what the browser has kept under a name; null for nothing, and where it does not allow that. */
function keptUnder(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}

function keepUnder(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // It counts until the page is closed.
  }
}

const remembered = () => keptUnder(STORE) ?? {};
const remember = (values) => keepUnder(STORE, { ...remembered(), ...values });

/**
 * The dialog that a game begins with. `game.now.card` has what there is to choose from, and the game there is.
 *
 * It is in one of these states, which `#become` shows:
 * "waiting": for the first game; "sent": for the one that was asked for;
 * "first": it asks whether to begin the game that stands at its beginning; "next": it asks for another game;
 * "left": it is closed; "leaving": the page begins anew.
 */
class StartCard {
  #state = "waiting";
  #since = performance.now(); // when that became so
  #watch = setInterval(() => this.#wait(), 200);
  keep = remember; // for the rest of the page

  constructor(game) {
    this.game = game;
    this.dialog = element("start");
    this.form = this.dialog.querySelector("form");
    element("link").before(element("in-header").content);
    this.button = element("again");
    this.marker = element("you");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#begin();
    });
    this.dialog.addEventListener("close", () => {
      if (this.#asks && !this.dialog.open) this.#become("left");
      this.#wait(); // nothing else can be done meanwhile
      game.page.wake(); // for the end card, which may have waited
    });
    const { theme } = remembered();
    if (["light", "dark"].includes(theme)) game.page.setTheme(theme);
  }

  get #card() { return this.game.now?.card; }
  get stands() { return Boolean(this.#card) && !this.game.now.tick && this.game.now.is_paused; }

  get #asks() { return ["first", "next"].includes(this.#state); }

  #become(state) {
    this.#state = state;
    this.#since = performance.now();
    this.form.querySelector("fieldset").disabled = !this.#asks;
    this.form.querySelector(".waiting").hidden = this.#asks;
    this.form.querySelector(".map").hidden = state !== "first"; // it would show how another game ended
    if (state === "left") this.dialog.close();
    if (this.#asks && !this.dialog.open) this.dialog.showModal();
    this.#wait();
    this.#showButton();
  }

  #showButton() {
    this.button.hidden = !this.#card || (!this.game.now.tick && !(this.stands && this.#state === "left"));
  }

  /** Says that the game is being made, and for how long. */
  #wait() {
    const seconds = (performance.now() - this.#since) / 1000;
    if (!["waiting", "sent"].includes(this.#state)) return;
    if (!this.dialog.open && 1000 * seconds < PATIENCE) return;
    if (!this.dialog.open) this.dialog.showModal();
    put(this.form.querySelector(".waiting span"), `${seconds.toFixed(0)} s`);
  }

  /** The session has told how the game stands. */
  arrived() {
    const isBegun = this.#state === "first" ? !this.stands : this.#state === "next" && !this.#card; // by another page
    if (this.#state === "waiting" && this.stands) this.#fill();
    else if (this.#state === "waiting" || isBegun) this.#become("left");
    else this.#showButton();
  }

  /** Opens the card, if there is a game to choose. */
  open() { if (this.#state === "left" && this.#card) this.#fill(); }

  /** Asks, beginning with the values of the last game and the level that its result leads to, or before the first one with those of the last time. */
  #fill(refused = "") {
    const card = this.#card, { form } = this, { seat } = this.game.now;
    const told = this.stands ? { ...remembered(), ...card.given } : { level: levelAfter(this.game) };
    const values = { ...card, another: this.#isAnother, ...told };
    const own = "level" in card.given && card.given.level === null ? [OWN] : [];
    const radio = { type: "radio", name: "level" };
    const choice = (value) => newElement("label", {}, newElement("input", { ...radio, value }), value);
    form.querySelector(".levels").replaceChildren(...[...own, ...card.levels].map(choice));
    const ownMap = card.map === null || ("map" in card.given && card.given.map === null) ? [OWN] : [];
    form.elements.map.replaceChildren(...[...ownMap, ...card.maps].map((name) => new Option(name.replaceAll("_", " "), name)));
    for (const name of ["level", "map"]) {
      form.elements[name].value = values[name] ?? OWN;
      if (!form.elements[name].value) form.elements[name].value = card[name] ?? OWN; // one that there is no longer
    }
    form.elements.players.value = values.players;
    form.elements.name.value = seat ? values.name : card.name; // spectators have none
    form.elements.another.checked = values.another && !(this.stands && "seed" in card.given);
    for (const part of form.querySelectorAll(".name, .you")) part.hidden = !seat;
    this.#offer(refused);
  }

  /** Whether each game is to have another map. */
  get #isAnother() { return remembered().another ?? !("seed" in this.#card.given); }

  /** Lets the player choose; `refused`: why the last choice was not possible. */
  #offer(refused) {
    put(this.form.querySelector(".refused"), refused);
    this.#become(this.stands ? "first" : "next");
    this.form.querySelector("[type=submit]").focus();
    this.game.page.wake(); // which draws the map
  }

  /** Begins the game that stands if it is the one of the card, and else asks for another. */
  #begin() {
    const { elements } = this.form, card = this.#card, chosen = (name) => (elements[name].value === OWN ? null : elements[name].value);
    const values = { level: chosen("level"), players: Number(elements.players.value), map: chosen("map"), name: elements.name.value };
    const name = this.game.now.seat ? values.name : remembered().name;
    remember({ ...values, name, another: elements.another.checked });
    const isThere = this.stands && Object.entries(values).every(([name, value]) => value === card[name]);
    const isKept = !elements.another.checked || !("seed" in card.given);
    if (isThere && isKept) {
      this.#become("left");
      this.game.pause();
    } else this.ask({ ...values, seed: elements.another.checked ? null : card.seed });
  }

  /** Plays once more, by default on the same level. */
  again(level = this.#card.level) {
    const { players, map, name, seed } = this.#card;
    this.ask({ level, players, map, name, seed: this.#isAnother ? null : seed });
  }

  /** Asks for another game; the page begins anew with it. */
  async ask(wish) {
    const isChosen = this.#asks; // on the card, which keeps what was typed
    this.#become("sent");
    const refused = await this.game.connection.send({ do: "new", ...wish });
    if (this.#state === "leaving") return;
    if (!refused) this.#become("left");
    else if (!this.#card) {
      this.#become("left");
      this.game.say(refused);
    } else if (isChosen) this.#offer(refused);
    else this.#fill(refused);
  }

  /** Begins the page anew: another game is played than the one that it shows. */
  restart() {
    if (this.#state === "leaving") return;
    this.#become("leaving");
    history.replaceState(null, "", location.pathname); // without the moment of a link
    location.reload();
  }

  // ---- where one is --------------------------------------------------------------------------------

  /** Shows where one is: on the card, and on the board in the first seconds of a game. */
  draw() {
    const { now, page } = this.game, { marker } = this;
    const isShown = now.is_alive && now.tick <= MARKED_TICKS, center = isShown ? centerOf(page.board, page.painter.width, now.seat) : null;
    marker.hidden = !center;
    if (!marker.hidden) {
      const { x, y, scale } = page.view;
      marker.style.transform = `translate(${x + center.column * scale}px, ${y + center.row * scale}px)`;
      marker.style.setProperty("--radius", `${Math.max(RING_RADIUS, this.#reach(scale))}px`);
    }
    if (this.#state === "first") this.#drawMap(center);
  }

  /** Returns the radius of a ring around own land, in pixels, where a cell has `scale` of them. */
  #reach(scale) { return 0.9 * Math.sqrt(this.game.now.land) * scale + 4; }

  #drawMap(center) {
    const { page, now } = this.game, { top, left, bottom, right } = page.view.area, { size } = page.painter;
    const canvas = this.form.querySelector("canvas"), context = canvas.getContext("2d");
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = (canvas.width * (bottom - top)) / (right - left);
    const scale = canvas.width / (right - left);
    context.drawImage(page.painter.canvas, left * size, top * size, (right - left) * size, (bottom - top) * size, 0, 0, canvas.width, canvas.height);
    if (!center) return;
    for (const [color, width] of [["#000", 6], [page.palette.texts[now.seat], 3]]) {
      context.strokeStyle = color;
      context.lineWidth = width * devicePixelRatio;
      context.beginPath();
      context.arc((center.column - left) * scale, (center.row - top) * scale, Math.max(14 * devicePixelRatio, this.#reach(scale)), 0, 2 * Math.PI);
      context.stroke();
    }
  }
}

KEYS.y = () => page.start?.open();
