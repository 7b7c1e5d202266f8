// The list of all players, the first on top; with teams, each team above its members.

const grouped = new Intl.NumberFormat("en-US"); // making one takes long
const count = (number) => grouped.format(number);

/** A number in at most seven characters: 9999, 10.0K, 1.23M. */
function short(number) {
  if (number < 1e4) return String(number);
  if (number < 1e6) return `${(Math.floor(number / 100) / 10).toFixed(1)}K`;
  return `${(Math.floor(number / 1e4) / 100).toFixed(2)}M`;
}

/** A share such as 12.3%, by the rule of `percent` in render/figures.py: rounded down, so that 100.0% is all. */
const percent = (part, whole) => `${(Math.floor((1000 * part) / whole) / 10).toFixed(1)}%`;

const UNSEEN_PERIOD = 2000; // milliseconds from one change of rows out of sight to the next while playing

class Standings {
  #allDue = 0; // rows out of sight are shown then

  /** Fills `list`; `chosen(seat)` is called for a click, `hovered(seat or 0)` for the pointer. */
  constructor(list, film, palette, chosen, hovered) {
    Object.assign(this, { list, film, order: [], followed: null, hovered: null });
    this.rows = film.header.names.map((_, index) => this.#row(index + 1, palette, chosen, hovered));
    const teamRow = { className: "row team" }; // which is no button: its members are followed
    this.teamRows = film.teams.map(({ name }) => newLine("div", teamRow, newElement("span", {}, name)));
    list.replaceChildren(...this.rows.map((row) => row.element));
  }

  #row(seat, palette, chosen, hovered) {
    const swatch = newElement("span", { className: "swatch" }), title = this.film.name(seat), name = newElement("span", { title }, title);
    const acts = { onclick: () => chosen(seat), onpointerenter: () => hovered(seat), onpointerleave: () => hovered(0) };
    const row = newLine("button", { type: "button", className: "row", ...acts }, newElement("span", {}, swatch), name);
    swatch.style.background = palette.texts[seat];
    row.element.dataset.seat = seat;
    return row;
  }

  /** Shows the standings at `frame`; while it `isPlaying`, not always those out of sight. Returns whether all are shown. */
  show(frame, isPlaying, now) {
    const { film } = this, order = film.standings(frame), teams = film.teamStandings(frame);
    const isAll = !isPlaying || now >= this.#allDue, end = isAll ? Infinity : this.#numSeen;
    if (isAll) this.#allDue = now + UNSEEN_PERIOD;
    this.#arrange(order, end);
    const left = film.alive[frame].reduce((sum, one) => sum + one, 0);
    const what = teams.length ? `in ${teams.filter((team) => team.left).length} teams` : "players";
    put(document.getElementById("left"), `${left} of ${order.length} ${what}`);
    order.slice(0, end).forEach((seat, place) => {
      const [land, troops, isLeft] = [film.land, film.troops, film.alive].map((of) => of[frame][seat]);
      this.#fill(this.rows[seat - 1], teams.length ? "" : place + 1, land, troops, isLeft, film.diedAt[seat] ?? 0); // its team has a place
    });
    teams.forEach(({ team, land, troops, left }, place) => this.#fill(this.teamRows[team - 1], place + 1, land, troops, left, film.outAt(team)));
    return isAll;
  }

  /** How many rows from the first one on are in sight, or above what is. */
  get #numSeen() {
    const { list } = this, bottom = Math.min(list.parentElement.getBoundingClientRect().bottom, innerHeight);
    return Math.max(0, Math.ceil((bottom - list.getBoundingClientRect().top) / list.firstChild.offsetHeight));
  }

  /** Puts the first `end` rows where they belong. */
  #arrange(order, end) {
    const focused = this.#focused, { film } = this;
    const lines = order.flatMap((seat, place) => {
      const team = film.teamOf(seat), isFirst = team && team !== film.teamOf(order[place - 1]);
      return [...(isFirst ? [this.teamRows[team - 1]] : []), this.rows[seat - 1]];
    });
    let there = this.list.firstChild;
    for (const { element } of lines.slice(0, end)) { // few are moved: the browser lays out anew what is
      if (there && element === there.nextSibling) this.list.append(there); // it has fallen: its place comes later
      else if (element !== there) this.list.insertBefore(element, there);
      there = element.nextSibling;
    }
    this.order = order;
    this.#makeOneStop();
    focused?.focus({ preventScroll: true }); // what is taken out and put back has lost it
  }

  get #focused() { return this.list.contains(document.activeElement) ? document.activeElement : null; }

  /** Tab comes to one row, that of the followed seat or the first; arrows go on from there. */
  #makeOneStop() {
    const stop = this.followed || this.order[0];
    this.rows.forEach(({ element }, index) => { element.tabIndex = index + 1 === stop ? 0 : -1; });
  }

  #fill(row, place, land, troops, isLeft, diedAt) {
    put(row.rank, isLeft ? String(place) : "");
    put(row.land, isLeft ? percent(land, this.film.numLand) : "out at");
    put(row.troops, isLeft ? short(troops) : count(diedAt));
    fillChip(row.chip, isLeft ? densityOf(troops, land) : null);
    row.element.classList.toggle("is-out", !isLeft);
  }

  /** Marks the rows of two seats, either of which may be 0. */
  mark(followed, hovered) {
    if (followed === this.followed && hovered === this.hovered) return;
    Object.assign(this, { followed, hovered });
    this.#makeOneStop();
    this.rows.forEach(({ element }, index) => {
      element.classList.toggle("is-followed", index + 1 === followed);
      element.setAttribute("aria-pressed", index + 1 === followed);
      element.classList.toggle("is-hovered", index + 1 === hovered);
    });
  }

  /** Has the focus, if a row has it, go to the row of the followed seat. */
  moveFocus() {
    if (this.#focused) this.rows[this.followed - 1]?.element.focus({ preventScroll: true });
  }

  /** Scrolls the list, and nothing else, until the row of `seat` is seen. */
  reveal(seat) {
    const row = this.rows[seat - 1]?.element, own = this.list.parentElement;
    if (!row) return;
    const scroller = getComputedStyle(own).overflowY === "auto" ? own : own.parentElement; // in low windows
    const { top, bottom } = row.getBoundingClientRect(), seen = scroller.getBoundingClientRect();
    const head = this.list.previousElementSibling.offsetHeight;
    if (top < seen.top + head) scroller.scrollTop -= seen.top + head - top;
    else if (bottom > seen.bottom) scroller.scrollTop += bottom - seen.bottom;
  }
}

/** Returns an element with who stands in a line, and with the cells of the line that change. */
function newLine(tag, properties, ...who) {
  const [rank, land, troops] = Array.from({ length: 3 }, () => newElement("span")), chip = newChip();
  return { element: newElement(tag, properties, rank, ...who, land, troops, chip), rank, land, troops, chip };
}

/** Makes `text` the text of `element`, without work where it is already. */
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
