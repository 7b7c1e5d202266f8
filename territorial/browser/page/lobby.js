"use strict";
// Several people in one game: who is there before it begins, and what one sees of the others while it goes on.

const namesOf = (people) => people.map(({ name }) => name).join(", ");

/** The people of a session, on the start card and below one's own name. `game.now.people` has them, the host first. */
class Lobby {
  #hasBegun = false; // by itself, as all are ready

  constructor(start) {
    this.start = start;
    this.form = start.form;
    element("ready").addEventListener("click", () => this.setReady(!this.me.is_ready));
    this.form.elements.name.addEventListener("change", () => this.isShared && this.setReady(this.me.is_ready));
  }

  get #now() { return this.start.game.now; }
  get isShared() { return this.#now?.people.length > 1; }
  get isGuest() { return this.#now.person > 0; }
  get me() { return this.#now.people[this.#now.person]; }

  setReady(isReady) { this.start.send({ do: "ready", name: this.form.elements.name.value, on: isReady }); }

  /** Fits the card to who sees it: the host chooses the game, all others only their names. */
  open() {
    if (!this.isShared) return;
    const { form, isGuest } = this;
    form.querySelector(".name").hidden = false;
    form.elements.name.value = remembered().name ?? this.me.name;
    form.elements.players.disabled = isGuest; // what is hidden must not be asked to be right
    this.arrived();
  }

  /** The session has told how the game stands. */
  arrived() {
    if (!this.isShared) return;
    document.body.classList.add("is-shared");
    document.body.classList.toggle("is-guest", this.isGuest);
    element("pace").disabled = this.isGuest;
    put(element("others"), this.#line());
    if (this.start.dialog.open) this.#showCard();
  }

  #showCard() {
    const { form, me, isGuest } = this, { people } = this.#now, label = me.is_ready ? "not ready yet" : "I am ready";
    form.querySelector(".people").replaceChildren(...people.map((one, n) => this.#row(one, n)));
    put(form.querySelector(".host"), isGuest ? "The host chooses the level and the map."
      : "The game begins once all who are there are ready. Bots play for the others, whose addresses are on the terminal.");
    put(element("ready"), label);
    put(form.querySelector("[type=submit]"), isGuest ? label : "begin now");
    this.#beginOnceReady();
  }

  /** The page of the host begins the game once all are ready; once, also if it is refused. */
  #beginOnceReady() {
    const here = this.#now.people.filter((one) => one.is_here);
    const isAgreed = !this.isGuest && here.length > 1 && here.every((one) => one.is_ready);
    if (isAgreed && !this.#hasBegun) this.form.requestSubmit();
    this.#hasBegun = isAgreed;
  }

  #row(one, n) {
    const item = document.createElement("li"), name = document.createElement("b"), state = document.createElement("span");
    const roles = [one === this.me && "you", n === 0 && "host"].filter(Boolean).join(", ");
    name.textContent = roles ? `${one.name} (${roles})` : one.name;
    state.textContent = !one.is_here ? "not there" : one.is_ready ? "ready" : "there";
    item.classList.toggle("is-ready", one.is_here && one.is_ready);
    item.append(name, state);
    return item;
  }

  /** Returns what there is to know of the others while the game goes on. */
  #line() {
    const { me } = this, now = this.#now, playing = now.people.filter((one) => one !== me && one.decides);
    if (now.is_over) return "";
    if (this.start.stands) return "The game begins when all are ready.";
    const gone = playing.filter((one) => !one.is_here), here = playing.filter((one) => one.is_here);
    const asking = here.filter((one) => one.wants_pause), late = here.filter((one) => !one.has_decided);
    const isWaiting = now.pace === "step" && late.length && (me.has_decided || !me.decides), texts = [];
    if (now.is_paused) texts.push("Paused by all; anyone can go on.");
    else if (me.decides && me.wants_pause) texts.push(`You ask for a pause, which begins once ${namesOf(here.filter((one) => !one.wants_pause))} agrees.`);
    else if (asking.length) texts.push(`${namesOf(asking)} asks for a pause.${me.decides ? " Press pause to agree." : ""}`);
    else if (isWaiting) texts.push(`Waiting for ${namesOf(late)}.`);
    else if (!now.tick && now.wait_ms) texts.push("The game begins in a moment.");
    if (gone.length) texts.push(`${namesOf(gone)} has left, and may come back.`);
    return texts.join(" ");
  }
}
