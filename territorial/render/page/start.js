"use strict";
// The start card, which asks for the next game, and the marker that says where on the board one is.

const MARKED_TICKS = 160; // for so long the board says where one is: eight seconds at the usual pace
const STORE = "territorial"; // what the browser remembers: the values of the card, and the theme
const PATIENCE = 400; // milliseconds that the page waits for a game before it says so
const OWN = "as on the command line";

/** Returns what has been remembered; nothing where the browser does not allow that. */
function remembered() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

function remember(values) {
  try {
    localStorage.setItem(STORE, JSON.stringify({ ...remembered(), ...values }));
  } catch {
    // The next game begins without.
  }
}

/** The dialog that a game begins with. `game.now.card` has what there is to choose from, and the game there is. */
class StartCard {
  #isLeft = false;    // the game stands, and the player has closed the card
  #isLeaving = false; // for the next game
  #since = performance.now();
  #watch = setInterval(() => this.#wait(), 200);
  #wish = null;       // while the server makes the next game

  constructor(game) {
    this.game = game;
    this.dialog = element("start");
    this.form = this.dialog.querySelector("form");
    this.lobby = new Lobby(this);
    this.button = document.createElement("button");
    Object.assign(this.button, { type: "button", id: "again", title: "play again (Y)", textContent: "play again", hidden: true });
    element("link").before(this.button);
    this.marker = document.createElement("p");
    Object.assign(this.marker, { id: "you", innerHTML: "<span>you</span>", hidden: true });
    element("view").append(this.marker);
    this.button.addEventListener("click", () => this.open());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#begin();
    });
    this.dialog.addEventListener("keydown", (event) => event.stopPropagation()); // no keys of the board
    this.dialog.addEventListener("close", () => { this.#isLeft = true; });
    const { theme } = remembered();
    if (["light", "dark"].includes(theme)) game.page.setTheme(theme);
  }

  get #card() { return this.game.now?.card; }
  get stands() { return Boolean(this.#card) && !this.game.now.tick && this.game.now.is_paused; }

  /** Says that the game is being made, and for how long. */
  #wait() {
    const seconds = (performance.now() - this.#since) / 1000, isWaiting = !this.game.now || this.#wish !== null;
    if (!isWaiting || 1000 * seconds < PATIENCE) return;
    if (!this.dialog.open) this.dialog.showModal();
    this.form.querySelector(".waiting").hidden = false;
    put(this.form.querySelector(".waiting span"), `${seconds.toFixed(0)} s`);
  }

  /** The session has told how the game stands. */
  arrived() {
    this.button.hidden = !this.#card || (!this.game.now.tick && !(this.stands && this.#isLeft));
    this.lobby.arrived();
    if (this.#wish) return;
    if (this.stands && !this.#isLeft && this.form.querySelector("fieldset").disabled) this.open();
    else if (!this.stands && !this.game.now.tick && this.dialog.open) this.dialog.close(); // begun on another page
    else if (!this.#card && this.dialog.open) this.dialog.close();
  }

  /** Shows the card with the values of the last game, before the first one with those of the last time. */
  open() {
    const card = this.#card, { form } = this;
    if (!card) return;
    const values = { another: !("seed" in card.given), ...card, ...(this.stands ? { ...remembered(), ...card.given } : {}) };
    const own = "level" in card.given && card.given.level === null ? [OWN] : [];
    form.querySelector(".levels").replaceChildren(...[...own, ...card.levels].map((level) => choice("level", level)));
    const ownMap = card.map === null || ("map" in card.given && card.given.map === null) ? [OWN] : [];
    form.elements.map.replaceChildren(...[...ownMap, ...card.maps].map((name) => new Option(name.replaceAll("_", " "), name)));
    for (const name of ["level", "map"]) {
      form.elements[name].value = values[name] ?? OWN;
      if (!form.elements[name].value) form.elements[name].value = card[name] ?? OWN; // one that there is no longer
    }
    form.elements.players.value = values.players;
    form.elements.name.value = values.name;
    form.elements.another.checked = values.another;
    for (const part of form.querySelectorAll(".name, .you")) part.hidden = !this.game.now.seat;
    this.#offer("");
  }

  /** Lets the player choose; `refused`: why the last choice was not possible. */
  #offer(refused) {
    const { form } = this;
    form.querySelector("fieldset").disabled = false;
    form.querySelector(".waiting").hidden = true;
    this.#say(refused);
    if (!this.dialog.open) this.dialog.showModal();
    this.lobby.open();
    form.querySelector("[type=submit]").focus();
    this.game.page.wake(); // which draws the map
  }

  /** Begins the game that stands if it is the one of the card, and else asks for another. */
  #begin() {
    const { elements } = this.form, card = this.#card, chosen = (name) => (elements[name].value === OWN ? null : elements[name].value);
    const values = { level: chosen("level"), players: Number(elements.players.value), map: chosen("map"), name: elements.name.value };
    if (this.lobby.isGuest) {
      remember({ name: values.name });
      this.lobby.setReady(!this.lobby.me.is_ready);
      return;
    }
    remember({ ...values, another: elements.another.checked });
    const isThere = this.stands && Object.entries(values).every(([name, value]) => value === card[name]);
    const isKept = !elements.another.checked || !("seed" in card.given);
    if (isThere && isKept && !this.lobby.isShared) {
      this.dialog.close();
      this.game.pause();
    } else this.ask({ ...values, seed: this.#keepsMap(values) || !elements.another.checked ? card.seed : null });
  }

  /** Whether several people are to play on the map that they have seen: only their names make it another game. */
  #keepsMap(values) {
    const card = this.#card;
    return this.lobby.isShared && this.stands && !("seed" in card.given) && ["level", "players", "map"].every((name) => values[name] === card[name]);
  }

  /** Plays once more, on another map; `by` 1: on the next level. */
  again(by) {
    const { level, levels, players, map, name } = this.#card;
    this.ask({ level: levels[levels.indexOf(level) + by] ?? level, players, map, name, seed: null });
  }

  /** Asks for another game; the page begins anew with it. */
  async ask(wish) {
    const isChosen = this.dialog.open; // on the card, which keeps what was typed
    this.#wish = wish;
    this.#since = performance.now();
    this.form.querySelector("fieldset").disabled = true;
    const reason = await this.game.orders.send({ do: "new", ...wish });
    this.#wish = null;
    if (this.#isLeaving) return;
    if (!isChosen) this.open();
    this.#offer(reason);
  }

  /** Sends a command, and says why it was refused. */
  async tell(command) { this.#say(await this.game.orders.send(command)); }

  #say(reason) { put(this.form.querySelector(".refused"), reason && `${reason[0].toUpperCase()}${reason.slice(1)}.`); }

  /** Begins the page anew: another game is played than the one that it shows. */
  restart() {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    remember({ theme: document.documentElement.dataset.theme });
    history.replaceState(null, "", location.pathname); // without the moment of a link
    location.reload();
  }

  // ---- where one is --------------------------------------------------------------------------------

  /** Shows where one is: on the card, and on the board in the first seconds of a game. */
  draw() {
    const { now, page } = this.game, { marker } = this;
    const center = now.is_alive ? centerOf(page.board, page.painter.width, now.seat) : null;
    marker.hidden = !center || now.tick > MARKED_TICKS;
    if (!marker.hidden) {
      const { x, y, scale } = page.view;
      marker.style.transform = `translate(${x + center.column * scale}px, ${y + center.row * scale}px)`;
      marker.style.setProperty("--radius", `${Math.max(RING_RADIUS, this.#reach(scale))}px`);
    }
    if (this.dialog.open) this.#drawMap(center);
  }

  /** Returns the radius of a ring around own land, in pixels, where a cell has `scale` of them. */
  #reach(scale) { return 0.9 * Math.sqrt(this.game.now.land) * scale + 4; }

  #drawMap(center) {
    const { page, now } = this.game, { top, left, bottom, right } = page.view.area, { size } = page.painter;
    const canvas = this.form.querySelector("canvas"), context = canvas.getContext("2d");
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = (canvas.width * (bottom - top)) / (right - left);
    const scale = canvas.width / (right - left);
    context.drawImage(page.view.canvas, left * size, top * size, (right - left) * size, (bottom - top) * size, 0, 0, canvas.width, canvas.height);
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

/** Returns one of the choices of a group, as a label with its button. */
function choice(group, value) {
  const label = document.createElement("label"), input = document.createElement("input");
  Object.assign(input, { type: "radio", name: group, value });
  label.append(input, value);
  return label;
}

KEYS.y = () => page.start.open();
