// The advisor: what another player would do on the seat, as bars.

const MOST_OPTIONS = 5; // others are shown as one bar
const HOLDS = -1; // the target of who holds

class Advice {
  constructor(game) {
    this.game = game;
    this.box = element("advice");
  }

  /** Shows what the session tells: undefined while the panel is closed, null if there is nothing to decide. */
  show(advice) {
    this.box.hidden = advice === undefined;
    element("advise").setAttribute("aria-pressed", !this.box.hidden);
    if (!advice) return;
    put(this.box.querySelector("h2"), `What ${advice.name} would do`);
    const bars = advice.options.slice(0, MOST_OPTIONS).map((option) => [option.owner, this.#text(option), option.part]);
    const rest = advice.options.slice(MOST_OPTIONS).reduce((sum, { part }) => sum + part, 0);
    if (rest > 0) bars.push([null, "others", rest]);
    const list = this.box.querySelector("ul");
    while (list.children.length > bars.length) list.lastChild.remove();
    while (list.children.length < bars.length) list.append(newBar());
    bars.forEach(([owner, text, part], n) => {
      const [swatch, what, track, number] = list.children[n].children;
      const isNobody = owner === null || owner === HOLDS;
      swatch.style.background = isNobody ? "transparent" : this.game.page.palette.texts[owner];
      put(what, text);
      track.firstChild.style.width = `${100 * part}%`;
      put(number, percent(part, 1));
    });
  }

  #text({ owner, fraction }) {
    if (owner === HOLDS) return "hold";
    const { film } = this.game.page, what = film.areAllies(this.game.now.seat, owner) ? "give " : "";
    return `${what}${this.game.name(owner)} with ${shareOf(fraction)}`;
  }
}

function newBar() {
  const swatch = newElement("span", { className: "swatch" }), track = newElement("span", { className: "track" }, newElement("span"));
  return newElement("li", {}, swatch, newElement("span"), track, newElement("span"));
}
