// What a launch would come to if nobody else did anything, which the session plays in a copy of the game.

class Forecast {
  #hovered = null;   // the owner under the pointer
  #asked = {};       // the aim that the session was told last: owner, share, and the tick at which it was told
  isAsking = false;  // until there is an answer to that
  #forecast = {};    // the newest forecast for what this page aims at: other pages of the seat have aims of their own

  constructor(game) {
    this.game = game;
    element("view").addEventListener("pointerleave", () => this.look(null));
  }

  /** The pointer is over land of `owner`, null for none: until it leaves, this is what is foreseen. */
  look(owner) {
    if (owner === this.#hovered) return;
    this.#hovered = owner;
    this.show();
  }

  /** Shows what is foreseen, and asks for it. */
  show() {
    const { game } = this, { now, share } = game, owner = this.#owner, forecast = now.panels.forecast;
    if (forecast?.owner === owner && forecast.share === share) this.#forecast = { ...forecast, tick: now.tick };
    const text = owner === null ? "" : this.text(owner);
    put(element("forecast"), text && owner !== game.target ? `${game.name(owner)}: ${text}` : text);
    if (owner !== null) this.#ask({ owner, share, tick: now.tick });
  }

  /**
   * Tells the session another aim; the same one again only where another page has replaced it, and once a tick.
   * Launches do not wait for that, and of the aims that come before the answer only the newest is told.
   */
  async #ask(aim) {
    const isKnown = ({ owner, share }) => owner === aim.owner && share === aim.share;
    const isNew = !isKnown(this.#asked) || (this.#forecast.tick !== aim.tick && this.#asked.tick !== aim.tick);
    if (this.isAsking || !isNew) return;
    this.#asked = aim;
    this.isAsking = true;
    await this.game.connection.post({ do: "aim", target: aim.owner, share: aim.share });
    this.isAsking = false;
    this.show();
  }

  /** Whom to foresee for: whoever is pointed at, or else the chosen target; null where no attack is legal. */
  get #owner() {
    const { game } = this, isOpen = (owner) => owner !== null && !game.whyNot(owner) && !game.isAlly(owner);
    return [this.#hovered, game.target].find(isOpen) ?? null;
  }

  /** Returns what an attack on `owner` with the chosen share comes to, in two lines; "" while that is not known. */
  text(owner) {
    const { now, share } = this.game, forecast = this.#forecast;
    if (forecast.owner !== owner || forecast.share !== share) return "";
    const stay = `${count(now.amounts.at(-1) - this.game.amount(owner))} troops stay at home`; // all that can be sent, less this
    return `${comesTo(forecast)}\n${stay}, ${forecast.is_alive ? `${count(forecast.troops)} by then` : "and you are out"}`;
  }
}
