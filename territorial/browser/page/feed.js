// What happens to the player and who falls: a list of lines, each of which leads to its place on the board.

const MOST_LINES = 20;

/** Reads a film frame by frame as it arrives, and tells of the attacks on the player and of all who fall. */
class Feed {
  #next = 1; // frame

  constructor(game) {
    this.game = game;
    this.list = element("feed");
    this.list.addEventListener("keydown", (event) => this.#walk(event));
  }

  /** Begins anew: the game is another one. */
  clear() {
    this.#next = 1;
    this.list.replaceChildren();
  }

  /** Takes in the frames that have come, and shows whether the player is attacked now. */
  show() {
    const { film } = this.game.page, isFirst = this.#next === 1;
    const news = [];
    for (; this.#next < film.length; this.#next++) news.push(...this.#attacks(this.#next), ...this.#falls(this.#next));
    const isAtEnd = !this.list.contains(document.activeElement);
    for (const one of news.slice(-MOST_LINES)) this.#add(one);
    if (news.length && isAtEnd) {
      this.#makeStop(this.list.lastChild);
      this.list.scrollTop = this.list.scrollHeight;
    }
    if (isFirst) requestAnimationFrame(() => this.list.setAttribute("aria-live", "polite")); // not what has been
    this.#warn();
  }

  /** Returns the attacks on the player that a frame shows and the one before does not. */
  #attacks(frame) {
    const { page: { film }, now: { seat } } = this.game;
    const on = (at) => film.attacks[at].filter(({ target }) => seat && target === seat);
    const before = new Set(on(frame - 1).map((attack) => attack.seat));
    return on(frame).filter((attack) => !before.has(attack.seat)).map((attack) => {
      const { troops, cells } = attack, what = troops ? `attacks you with ${short(troops)}` : `has taken ${count(cells)} cells of yours`;
      return { frame, tick: film.ticks[frame], attack, owner: attack.seat, kind: "is-against", text: `${film.name(attack.seat)} ${what}` };
    });
  }

  /** Returns who is out since the frame before, and to whom most of its land went. */
  #falls(frame) {
    const { page: { film }, now: { seat } } = this.game;
    const fallen = [...film.alive[frame].keys()].filter((one) => one && !film.alive[frame][one] && film.alive[frame - 1][one]);
    return fallen.map((owner) => {
      const victor = this.#victor(owner, frame), name = victor ? film.name(victor) : "";
      let text = victor ? `${film.name(owner)} falls to ${name}` : `${film.name(owner)} is out`;
      if (owner === seat) text = victor ? `You are out: ${name} took most of your land` : "You are out";
      else if (victor && victor === seat) text = `You have conquered ${film.name(owner)}`;
      return { frame: frame - 1, tick: film.diedAt[owner], owner, kind: owner === seat ? "is-against" : "", text };
    });
  }

  /** Returns who took most cells from `owner` in the last FIGHT_TICKS, 0 for nobody. */
  #victor(owner, frame) {
    const { film } = this.game.page, taken = new Map([[0, 0]]);
    for (let at = frame; at >= 0 && film.ticks[frame] - film.ticks[at] < FIGHT_TICKS; at--) {
      for (const { seat, target, cells } of film.attacks[at]) {
        if (target === owner) taken.set(seat, (taken.get(seat) ?? 0) + cells);
      }
    }
    return [...taken].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
  }

  #add(news) {
    const { list } = this, { palette } = this.game.page, text = `${count(news.tick)}: ${news.text}`;
    const line = newElement("button", { type: "button", tabIndex: -1, className: news.kind, title: text, onclick: () => this.#center(news) }, text);
    line.style.borderColor = palette.texts[news.owner];
    if (list.children.length === MOST_LINES) list.firstChild.remove();
    list.append(line);
  }

  /** Tab comes to one line, the last one; the arrows up and down go on from there. */
  #makeStop(line) {
    for (const one of this.list.children) one.tabIndex = one === line ? 0 : -1;
  }

  #walk(event) {
    const siblings = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" };
    const next = event.target[siblings[event.key]];
    if (!next) return;
    event.preventDefault();
    this.#makeStop(next);
    next.focus();
  }

  /** Has the board show where something happened, as it was then. */
  #center({ frame, attack, owner }) {
    const { film, view, painter: { width } } = this.game.page, board = new Uint8Array(film.numCells);
    film.move(board, -1, frame);
    const [front] = attack ? new FrontPlaces().find(board, width, view.area, [attack]) : [];
    const place = front ?? centerOf(board, width, owner);
    if (place) view.approach(place.row, place.column, 1);
  }

  /** Marks the board for as long as anybody attacks the player. */
  #warn() {
    const { game } = this, { attackers, is_over: isOver } = game.now, isAttacked = attackers.length > 0 && !isOver;
    document.body.classList.toggle("is-attacked", isAttacked);
    if (!isAttacked) return;
    const [[seat, troops], ...others] = attackers, more = others.length ? ` and ${others.length} more` : "";
    put(element("alarm"), `${game.name(seat)} attacks you with ${short(troops)}${more}`);
  }
}
