"use strict";
// The list of all players, the first on top.

const count = (number) => number.toLocaleString("en-US");

/** A number in at most seven characters: 9999, 10.0K, 1.23M. */
function short(number) {
  if (number < 1e4) return String(number);
  if (number < 1e6) return `${(Math.floor(number / 100) / 10).toFixed(1)}K`;
  return `${(Math.floor(number / 1e4) / 100).toFixed(2)}M`;
}

/** A share such as 12.3%, by the rule of `percent` in render/figures.py: rounded down, so that 100.0% is all. */
const percent = (part, whole) => `${(Math.floor((1000 * part) / whole) / 10).toFixed(1)}%`;

class Standings {
  /** Fills `list`; `chosen(seat)` is called for a click, `hovered(seat or 0)` for the pointer. */
  constructor(list, film, palette, chosen, hovered) {
    this.list = list;
    this.film = film;
    this.order = [];
    this.rows = film.header.names.map((_, index) => this.#row(index + 1, palette, chosen, hovered));
    list.replaceChildren(...this.rows.map((row) => row.element));
  }

  #row(seat, palette, chosen, hovered) {
    const element = document.createElement("div");
    const [rank, swatchBox, name, land, troops] = Array.from({ length: 5 }, () => document.createElement("span"));
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = palette.texts[seat];
    swatchBox.append(swatch);
    name.textContent = name.title = this.film.name(seat);
    element.className = "row";
    element.dataset.seat = seat;
    element.append(rank, swatchBox, name, land, troops);
    element.addEventListener("click", () => chosen(seat));
    element.addEventListener("pointerenter", () => hovered(seat));
    element.addEventListener("pointerleave", () => hovered(0));
    return { element, rank, land, troops };
  }

  /** Shows the standings at `frame`. */
  show(frame) {
    const { film } = this, order = film.standings(frame);
    if (order.some((seat, place) => seat !== this.order[place])) {
      this.list.replaceChildren(...order.map((seat) => this.rows[seat - 1].element));
      this.order = order;
    }
    const left = film.alive[frame].reduce((sum, one) => sum + one, 0);
    put(document.getElementById("left"), `${left} of ${order.length} players`);
    order.forEach((seat, place) => this.#fill(this.rows[seat - 1], seat, place, frame));
  }

  #fill(row, seat, place, frame) {
    const { film } = this, isAlive = film.alive[frame][seat] === 1;
    put(row.rank, isAlive ? String(place + 1) : "");
    put(row.land, isAlive ? percent(film.land[frame][seat], film.numLand) : "out at");
    put(row.troops, isAlive ? short(film.troops[frame][seat]) : count(film.diedAt[seat] ?? 0));
    row.element.classList.toggle("is-out", !isAlive);
  }

  /** Marks the rows of two seats, either of which may be 0. */
  mark(followed, hovered) {
    this.rows.forEach(({ element }, index) => {
      element.classList.toggle("is-followed", index + 1 === followed);
      element.classList.toggle("is-hovered", index + 1 === hovered);
    });
  }

  reveal(seat) { this.rows[seat - 1]?.element.scrollIntoView({ block: "nearest" }); }
}

/** Makes `text` the text of `element`, without work where it is already. */
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
