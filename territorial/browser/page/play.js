// Playing a seat: what the player sees of it and does, over the page that shows the game.

const PREPARES = "The panel is being prepared, which takes a minute where the package has no machine code.";
const BOARD_WATCHED = element("view").getAttribute("aria-label");
const BOARD_PLAYED = "the board: drag to move, wheel to zoom, click a territory to attack it";
const NOTCH = 60; // pixels of a wheel that change the share by one
const PACES = [5, 10, 20, 40, 80, 160, 320]; // ticks a second

/** The game of one seat, as the session has told last. */
class Game {
  now = null;        // the situation
  target = NEUTRAL;  // the owner code that the large button attacks
  #shownEnding = ""; // the ending that has been shown
  #stands = false;   // for as long as a dialog is open
  #scrolled = 0;     // pixels of the wheel since the share was changed
  #rows = new Map(); // by owner code: the row of the list

  /** `connect` returns the connection to who plays the game, see `ServerConnection`. */
  constructor(page, connect) {
    this.page = page;
    this.keys = playKeys(this);
    element("view").append(element("over-board").content);
    this.veil = element("veil");
    this.outlines = new Outlines(page);
    this.advice = new Advice(this);
    this.agentView = new AgentView(this);
    this.forecast = new Forecast(this);
    this.feed = new Feed(this);
    this.shares = new Shares();
    this.start = page.start = new StartCard(this);
    this.connection = connect({
      arrived: (now) => this.#arrived(now),
      silent: (seconds) => this.#silent(seconds),
      lost: (reason) => this.#lost(reason),
    });
    connectGame(this);
  }

  /** Begins a game that goes on from a moment of the film. */
  resume() {
    Object.assign(this, { now: null, target: NEUTRAL });
    this.#shownEnding = "";
    this.#rows.clear();
    this.feed.clear();
    this.page.game = this;
    this.page.follow(0);
    document.title = element("title").textContent = this.page.film.header.title;
    this.open();
  }

  /** Begins: the page shows what happens now. */
  open() {
    document.body.classList.add("is-in-game");
    element("view").setAttribute("aria-label", BOARD_PLAYED);
    this.page.toEnd();
    this.connection.listen();
  }

  /** Prepares what lies over the board; the page asks for it with every picture. */
  draw() {
    const { page } = this;
    if (page.isGrowing && !page.isLive) page.toEnd(); // the past is for those who watch
    if (!this.now) return;
    if (!page.painter.patterns[this.now.seat]) page.painter.setPatterns(this.now.seat, this.isAlly);
    const legal = this.#decides ? this.now.openings.filter((opening) => !opening.reason) : [];
    this.outlines.show(this.now.seat, new Set(legal.map(({ owner }) => owner)), this.isAlly);
    this.start.draw();
    this.#showEnding();
  }

  /** Whether it is played: until the player watches it again. */
  get isLive() { return this.page.game === this; }

  isAlly = (owner) => this.page.film.areAllies(this.now.seat, owner);

  // ---- what the session tells ----------------------------------------------------------------------

  #arrived(now) {
    if (this.now && now.number < this.now.number) return; // an answer that was overtaken
    const { header } = this.page.film;
    if (header && header.title !== now.title) { // another game
      this.start.restart();
      return;
    }
    this.now = now;
    if (this.isLive && this.page.painter) {
      this.start.arrived();
      this.page.arrived();
    } else if (this.isLive) setTimeout(() => this.#arrived(now), 20); // the film has not begun
  }

  /** Whether the film has come to the tick that the session told of last, and no further. */
  get isInStep() { return this.now?.tick === this.page.film.lastTick; }

  #lost(reason) {
    if (this.now?.is_over) return;
    document.body.classList.add("is-lost");
    this.say(`Lost connection to the game: ${reason}.`);
  }

  /** The server has said nothing for so many seconds; 0: it speaks again. */
  #silent(seconds) {
    document.body.classList.toggle("is-lost", seconds > 0);
    if (seconds) this.say(`The server has not answered for ${seconds} s.`);
    else this.page.hurry();
  }

  /** Shows what is read beside the board; the page asks for it. */
  show() {
    const { now } = this;
    if (!now) return;
    this.#showMe();
    this.#showToward();
    this.#showShare();
    this.#showOwners();
    this.#showAttacks();
    this.advice.show(this.now.panels.advice);
    this.agentView.show(this.now.panels.agent_view);
    element("pause").textContent = now.is_paused ? "go on" : "pause";
    this.#showVeil();
    this.#showPace();
    element("undo").hidden = !now.queued;
    if (now.queued) this.say(this.#waiting());
    else if (/^(Sends|Gives|The server has not)/.test(this.said ?? "")) this.say("");
    this.feed.show();
    showCostliest(this);
  }

  /** Says over the board that the game stands, and how it goes on; clicks on the board still choose. */
  #showVeil() {
    const { now, start } = this, stands = start.stands;
    document.body.classList.toggle("is-stopped", now.is_paused && !now.is_over);
    put(this.veil.querySelector("b"), stands ? "The game has not begun" : "Paused");
    put(this.veil.querySelector("span"), stands ? "begin" : "go on");
  }

  /** Shows the share of the land of the own side, or for spectators of the first, on its way to what wins. */
  #showToward() {
    const { now: { seat }, page: { film } } = this, last = film.length - 1, box = document.querySelector("#me .toward");
    const [first] = film.standings(last), meter = box.querySelector("meter"), land = film.sideLand(seat || first, last);
    Object.assign(meter, { max: film.header.win_percent, value: (100 * land) / film.numLand });
    put(box.querySelector("span"), `${seat ? "" : `${film.sideName(first)} `}${percent(land, film.numLand)} of the land; ${film.header.win_percent} % wins`);
  }

  #showMe() {
    const { now, page } = this, box = element("me"), when = [`tick ${count(now.tick)} of ${count(page.film.header.max_ticks)}`];
    if (now.pages > 1) when.push(`${now.pages} pages play this seat`);
    if (now.pace === "step" && this.#decides && !now.has_decided) when.push("your turn");
    const facts = now.is_alive ? `${count(now.land)} cells, ${count(now.troops)} troops` : now.seat ? "out" : "";
    box.querySelector(".swatch").style.background = page.palette.texts[now.seat];
    const team = page.film.teamOf(now.seat) ? `, ${page.film.sideName(now.seat)}` : "";
    put(box.querySelector("b"), now.seat ? `${page.film.name(now.seat)}${team}` : "You watch");
    put(box.querySelector(".when"), when.join(", "));
    put(box.querySelector(".facts"), facts);
    showIncome(now);
    document.body.classList.toggle("is-out", !this.#decides);
    document.body.classList.toggle("is-over", now.is_over);
    page.standings.rows[now.seat - 1]?.element.classList.add("is-own");
    page.standings.teamRows[page.film.teamOf(now.seat) - 1]?.element.classList.add("is-own");
  }

  get #decides() { return this.now.is_alive && !this.now.is_over && !this.now.has_resigned; }

  /** Returns the name of an owner code. */
  name = (owner) => ownerName(this.page.film, owner);

  /** Returns what the session says of an owner that can be attacked, or given to. */
  #known(owner) { return [...this.now.openings, ...this.now.allies].find((one) => one.owner === owner); }

  /** Returns the troops that a launch with a share comes to, by default the chosen one; a gift has 1 at least. */
  amount(owner, share = this.share) {
    const known = this.#known(owner), least = known ? known.least ?? 1 : 0;
    return Math.max(this.now.amounts[share] ?? 0, least);
  }

  /** Returns why an owner cannot be attacked, or given to; "" if it can. */
  whyNot(owner) {
    const { now } = this;
    if (now.is_over) return "the game is over";
    if (!now.seat) return "you are a spectator";
    if (!now.is_alive) return "you are out of the game";
    if (now.has_resigned) return "you have resigned";
    if (owner === BLOCKED) return "no player can go there";
    if (owner === now.seat) return "this is your own land";
    const known = this.#known(owner);
    if (known) return known.reason;
    const isOut = owner !== NEUTRAL && !this.page.film.alive.at(-1)[owner];
    return isOut ? "out of the game" : "too far: your land does not touch it";
  }

  /** Returns what a click on an owner would do, or why it does nothing. */
  hint(owner) {
    if (!this.now) return "";
    this.forecast.look(owner);
    const doing = this.isAlly(owner) ? "your ally; click to give" : "click to send";
    return this.whyNot(owner) || `${doing} ${count(this.amount(owner))} troops`;
  }

  #waiting() {
    const { queued, wait_ms: wait, is_paused: isPaused } = this.now;
    const when = isPaused ? "when the game goes on" : wait ? `in ${(wait / 1000).toFixed(1)} s` : "now";
    return `${this.isAlly(queued.target) ? "Gives" : "Sends"} ${short(this.amount(queued.target, queued.share))} to ${this.name(queued.target)} ${when}`;
  }

  #showShare() {
    put(element("game").querySelector("output"), `${shareText(this.share)} = ${count(this.now.amounts[this.share] ?? 0)}`);
    const button = element("send"), { target } = this, reason = this.whyNot(target), name = this.name(target);
    const offer = `${this.isAlly(target) ? "give" : "send"} ${count(this.amount(target))} to ${name}`;
    button.setAttribute("aria-disabled", Boolean(reason) && this.#decides);
    put(button, !this.#decides ? "watch again" : reason ? `${name}: ${reason}` : offer);
    this.forecast.show();
  }

  #showOwners() {
    const { openings, allies } = this.now, troops = (owner) => short(this.page.film.troops.at(-1)[owner]);
    const army = (owner) => (owner === NEUTRAL ? "" : `, ${troops(owner)}`);
    const attacked = (by) => (by ? `, attacked with ${short(by)}` : "");
    this.#list("openings", openings, ({ owner, cells }) => `front ${count(cells)}${army(owner)}`);
    this.#list("allies", allies, ({ owner, attackers }) => `${troops(owner)} troops${attacked(attackers)}`);
  }

  /** Lists `shown`, owners that can be chosen, with what `describe` says of each, or why not. */
  #list(id, shown, describe) {
    const { film } = this.page, items = (this.#decides ? shown : []).map((one) => {
      const { item, button, chip, text } = this.#row(one.owner);
      put(text, one.reason || describe(one));
      fillChip(chip, one.owner === NEUTRAL ? null : film.density(one.owner, film.length - 1));
      button.setAttribute("aria-disabled", Boolean(one.reason));
      button.classList.toggle("is-target", one.owner === this.target);
      return item;
    });
    place(element(id), items);
  }

  /** Returns the row of an owner in the list, which stays the same, so that it keeps the focus. */
  #row(owner) {
    if (!this.#rows.has(owner)) {
      const swatch = newElement("span", { className: "swatch" }), chip = newChip(), text = newElement("span");
      const name = newElement("b", {}, this.name(owner)), onclick = () => this.attack(owner);
      const button = newElement("button", { type: "button", onclick }, swatch, chip, name, text);
      swatch.style.background = this.page.palette.texts[owner];
      button.dataset.owner = owner;
      this.#rows.set(owner, { item: newElement("li", {}, button), button, chip, text });
    }
    return this.#rows.get(owner);
  }

  #showAttacks() {
    const { attacks, attackers, seat } = this.now, { film } = this.page;
    const gifts = film.recentGifts(film.length - 1, GIFT_TICKS);
    const texts = [
      ...attackers.map(([owner, troops]) => [owner, "is-against", `${this.name(owner)} attacks you with ${short(troops)}`]),
      ...attacks.map(([owner, troops]) => [owner, "", `you attack ${this.name(owner)} with ${short(troops)}`]),
      ...gifts.filter((gift) => gift.target === seat).map((gift) => [gift.seat, "is-gift", `${this.name(gift.seat)} gave you ${short(gift.troops)}`]),
      ...gifts.filter((gift) => gift.seat === seat).map((gift) => [gift.target, "is-gift", `you gave ${this.name(gift.target)} ${short(gift.troops)}`]),
    ];
    const list = element("under-way");
    while (list.children.length > texts.length) list.lastChild.remove();
    while (list.children.length < texts.length) list.append(newElement("li"));
    texts.forEach(([owner, kind, text], n) => {
      list.children[n].className = kind;
      list.children[n].style.borderColor = this.page.palette.texts[owner];
      put(list.children[n], text);
    });
  }

  #showPace() {
    const select = element("pace"), pace = String(this.now.pace);
    if (![...select.options].some((option) => option.value === pace)) select.add(new Option(`${pace} ticks/s`, pace));
    if (document.activeElement !== select) select.value = pace;
  }

  #showEnding() {
    const { now, page: { film } } = this;
    const ending = now.is_over ? "over" : now.seat && !now.is_alive ? "out" : "";
    if (!ending || ending === this.#shownEnding || (now.is_over && !film.isComplete)) return;
    if (document.querySelector("dialog[open]:not(#ending)")) return; // the player has it closed first
    this.#shownEnding = ending;
    showEnding(this);
  }

  // ---- what the player does ------------------------------------------------------------------------

  /** Shows a line of text to the player. */
  say(text) {
    this.said = text;
    put(element("said"), text);
  }

  async #send(command) {
    const reason = await this.connection.send(command);
    if (reason) this.say(reason);
    this.page.hurry();
  }

  /** Whether there is no seat to play, so that clicks follow players as they do when a film is watched. */
  get isSpectator() { return this.now?.seat === 0; }

  /** A click on the board attacks, or gives to an ally; a tap chooses for whom the large button does. */
  pick(owner, kind) {
    if (!this.now) return;
    if (kind === "touch") this.choose(owner);
    else this.attack(owner);
  }

  choose(owner) {
    this.#aim(owner);
    this.page.hurry();
  }

  /** Makes `owner` the target and returns true, or says why not. */
  #aim(owner) {
    const reason = this.whyNot(owner);
    this.say(reason ? `${this.name(owner)}: ${reason}.` : "");
    if (!reason) this.target = owner;
    return !reason;
  }

  attack(owner) {
    if (this.#aim(owner)) this.#send({ do: "launch", target: owner, share: this.share }); // the answer shows it
  }

  /** The number of the fraction that is sent. */
  get share() { return Number(element("share").value); }

  setShare(share) {
    element("share").value = share; // which keeps it between the least and the most
    if (this.now && this.page.painter) this.#showShare();
  }

  /** Changes the share by the wheel: up is more. */
  scrollShare(pixels) {
    const notches = Math.trunc((this.#scrolled + pixels) / NOTCH);
    this.#scrolled += pixels - notches * NOTCH;
    if (notches) this.setShare(this.share - notches);
  }

  /** Opens or closes a panel, "advice" or "agent_view"; the session tells what is in it. */
  async toggle(panel) {
    const late = setTimeout(() => this.say(PREPARES), PATIENCE);
    await this.#send({ do: "show", panel, on: !(panel in this.now.panels) });
    clearTimeout(late);
    if (this.said === PREPARES) this.say("");
  }

  /** Gives to the first ally of the list: the one that is attacked most. */
  give() {
    const [first] = this.now.allies;
    if (first) this.attack(first.owner);
    else this.say("You have no ally to give to.");
  }

  hold() { this.#send({ do: "hold" }); }

  // What is asked for counts at once, for those who press a key twice before there is an answer.
  pause() {
    this.now.is_paused = !this.now.is_paused;
    this.#send({ do: "pause", on: this.now.is_paused });
  }

  /** Stops a game that goes on by itself while its player cannot look at it; returns whether it did. */
  stopUnseen() {
    const isRunning = Boolean(this.now) && this.isLive && this.#decides && !this.now.is_paused && this.now.pace !== "step";
    if (isRunning) this.pause();
    return isRunning;
  }

  setPace(pace) {
    this.now.pace = pace;
    this.#send({ do: "pace", pace });
  }

  changePace(by) {
    const { pace } = this.now;
    const next = by > 0 ? PACES.find((one) => one > pace) : PACES.findLast((one) => one < pace);
    if (next || pace === "step") this.setPace(next ?? PACES[2]);
  }

  /** Opens a dialog, behind which the game stands still. */
  ask(id) {
    this.#stands = this.stopUnseen();
    element(id).showModal();
  }

  /** Lets a game go on that has stopped for a dialog. */
  goOn() {
    if (this.#stands && this.now.is_paused) this.pause();
    this.#stands = false;
  }

  askToResign() { if (this.#decides) this.ask("resigning"); }

  resign() { this.#send({ do: "resign" }); }

  /** Ends playing on this page: it shows the game from its beginning. */
  watchAgain() {
    this.page.game = null;
    document.body.classList.remove("is-in-game", "is-attacked");
    element("view").setAttribute("aria-label", BOARD_WATCHED);
    this.page.seek(0);
    this.page.play(true);
    if (!this.now?.card || this.page.moment) return;
    const title = "play the followed seat, or your own, from here (J)", onclick = () => this.playOn();
    element("link").before(newElement("button", { type: "button", id: "play-on", title, onclick }, "play on from here"));
    WATCH_KEYS.j = onclick;
  }

  /** Begins a game that goes on from the moment that is shown, on the followed seat or else the own one. */
  playOn() {
    const { page } = this;
    page.play(false);
    this.#takeOver(page.film.ticks[page.frame], page.followed || this.now.seat || 1);
  }

  /** Begins a game that goes on from the decision that cost the player most. */
  retry() { this.#takeOver(this.now.costliest.tick, this.now.seat); }

  async #takeOver(tick, seat) {
    const refused = await this.connection.send({ do: "take_over", tick, seat });
    if (refused) this.page.say(refused);
  }
}

/** Makes `items` the children of `list`, if others are; the one that has the focus keeps it. */
function place(list, items) {
  if (items.length === list.children.length && items.every((item, n) => item === list.children[n])) return;
  const focused = document.activeElement;
  list.replaceChildren(...items);
  if (focused?.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
}

// ---- keys and buttons --------------------------------------------------------------------------------

/** What keys do besides while a seat is played. */
function playKeys(game) {
  const keys = {
    " ": () => game.pause(),
    "[": () => game.changePace(-1),
    "]": () => game.changePace(1),
    q: () => game.setShare(game.share - 1),
    e: () => game.setShare(game.share + 1),
    n: () => game.attack(NEUTRAL),
    g: () => game.give(),
    h: () => game.hold(),
    r: () => game.askToResign(),
    p: () => game.toggle("advice"),
    o: () => game.toggle("agent_view"),
    "?": () => game.ask("rules"),
  };
  DIGITS.forEach((digit, place) => { keys[digit] = () => game.setShare(game.shares.keys[place]); });
  return Object.fromEntries(Object.entries(keys).map(([name, act]) => [name, () => game.now && act()]));
}

function connectGame(game) {
  const pace = element("pace"), share = element("share");
  for (const value of PACES) pace.add(new Option(`${value} ticks/s`, value));
  pace.add(new Option("step", "step"));
  pace.addEventListener("change", () => game.setPace(pace.value === "step" ? "step" : Number(pace.value)));
  share.addEventListener("input", () => game.setShare(Number(share.value)));
  element("send").addEventListener("click", () => {
    if (document.body.classList.contains("is-out")) game.watchAgain();
    else if (game.now) game.attack(game.target);
  });
  const answers = { resigning: { yes: () => game.resign() }, ending: { again: () => game.watchAgain(), retry: () => game.retry(), same: () => game.start.again(), next: () => game.start.again(otherLevel(game)), card: () => game.start.open() }, rules: {} };
  for (const [id, acts] of Object.entries(answers)) {
    const dialog = element(id);
    dialog.addEventListener("close", () => {
      game.goOn();
      game.page.wake(); // for the end card, which may have waited
      acts[dialog.returnValue]?.();
      dialog.returnValue = ""; // Escape would say again what was said before
    });
  }
  element("ending").addEventListener("keydown", ({ key }) => key.toLowerCase() === "y" && element("ending").close("card"));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden && page.game?.stopUnseen()) page.game.say("Paused while you were away; space goes on.");
});
