"use strict";
// What a launch would come to if nobody else did anything, which the session plays in a copy of the game.

class Forecast {
  #hovered = null; // the owner under the pointer
  #asked = "";     // owner and share of the aim that the session was told last

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

  /** Shows what is foreseen, and asks for it as soon as target or share are others. */
  show() {
    const { game } = this, owner = this.#owner, isAbsent = owner === null;
    const aim = isAbsent ? "" : `${owner} ${game.share}`;
    if (aim && aim !== this.#asked) game.orders.send({ do: "aim", target: owner, share: game.share });
    this.#asked = aim;
    const text = isAbsent ? "" : this.text(owner);
    put(element("forecast"), text && owner !== game.target ? `${game.name(owner)}: ${text}` : text);
  }

  /** Whom to foresee for: whoever is pointed at, or else the chosen target; null where no attack is legal. */
  get #owner() {
    const { game } = this, isOpen = (owner) => owner !== null && !game.whyNot(owner) && !game.isAlly(owner);
    return [this.#hovered, game.target].find(isOpen) ?? null;
  }

  /** Returns what an attack on `owner` with the chosen share comes to, in two lines; "" while that is not known. */
  text(owner) {
    const { now, share } = this.game, told = now.panels.forecast;
    if (told?.owner !== owner || told.share !== share) return "";
    const { cells, ticks, troops, is_alive: isAlive } = told;
    const end = told.falls ? " and ends that player" : told.ends ? " and ends the game" : told.goes_on ? " and goes on" : "";
    const stay = `${short(now.amounts.at(-1) - this.game.amount(owner))} troops stay at home`; // all that can be sent, less this
    return `takes ${cells ? count(cells) : "no"} cells in ${ticks} ticks${end}\n${stay}, ${isAlive ? `${short(troops)} by then` : "and you are out"}`;
  }
}
