// Names and troops on the land of those they belong to, as large as fits.

const LABEL_SIZES = [30, 24, 20, 16, 13, 11, 10]; // of letters, in pixels: few, so that they seldom change
const LABEL_LINE = 1.15; // from line to line, in sizes
const LABEL_ROWS = 256;  // of the board that are looked at, at most: else every second, third ... one
const LABEL_STAYS = 0.7; // a label stays while its place has this share of the best one's room
const LABEL_PULL = 0.02; // room that a place is worth less for every step to the middle of the land

/** Finds where each owner has most room, in boxes twice as wide as high. */
class LabelPlaces {
  #last = new Map(); // by owner: row and column, which stay where they do

  /** Returns [{owner, row, column, height, width}] of the seats within `area`, boxes of nothing but their cells. */
  find(board, boardWidth, area) {
    this.#look(board, boardWidth, area);
    this.#measure();
    const best = this.#best(), found = [];
    for (let owner = 1; owner < BLOCKED; owner++) {
      if (best[owner] < 0) continue;
      const at = this.#stay(owner, best[owner]), side = 2 * this.room[at] - 1;
      const row = this.top + Math.floor(at / this.columns) * this.step;
      const column = this.left + (at % this.columns) * 2 * this.step;
      this.#last.set(owner, { row, column });
      found.push({ owner, row, column, height: (side - 1) * this.step + 1, width: 2 * (side - 1) * this.step + 1 });
    }
    return found;
  }

  /** Takes every so many rows, and half as many columns, so that squares are boxes of two to one. */
  #look(board, boardWidth, { top, left, bottom, right }) {
    const step = this.step = Math.max(1, Math.ceil((bottom - top) / LABEL_ROWS), Math.ceil((right - left) / LABEL_ROWS / 2));
    this.top = Math.ceil(top / step) * step;
    this.left = Math.ceil(left / step / 2) * step * 2;
    this.rows = Math.max(0, Math.ceil((bottom - this.top) / step));
    this.columns = Math.max(0, Math.ceil((right - this.left) / step / 2));
    const size = this.rows * this.columns;
    if (!this.seen || this.seen.length < size) [this.seen, this.room] = [new Uint8Array(size), new Int16Array(size)];
    for (let row = 0, at = 0; row < this.rows; row++) {
      let cell = (this.top + row * step) * boardWidth + this.left;
      for (let column = 0; column < this.columns; column++, at++, cell += 2 * step) this.seen[at] = board[cell];
    }
  }

  /** Writes to `room` how many steps away another owner is in any of the eight directions. */
  #measure() {
    const { seen, room, rows, columns } = this, last = rows * columns - 1;
    for (let turn = 0; turn < 2; turn++) { // once from the top left, once from the bottom right
      const sign = turn ? -1 : 1;
      for (let n = 0; n <= last; n++) {
        const at = turn ? last - n : n, column = n % columns, owner = seen[at];
        let least = 0;
        if (n >= columns && column > 0 && column < columns - 1) {
          const up = at - sign * columns, side = at - sign;
          const before = seen[up - sign] === owner && seen[up] === owner && seen[up + sign] === owner && seen[side] === owner;
          if (before) least = Math.min(room[up - sign], room[up], room[up + sign], room[side]);
        }
        room[at] = turn ? Math.min(room[at], least + 1) : least + 1;
      }
    }
  }

  /** Returns by owner the place of most room not far from the middle of its land, -1 for none. */
  #best() {
    const { seen, room, rows, columns } = this;
    const cells = new Int32Array(256), down = new Float64Array(256), across = new Float64Array(256);
    for (let at = 0; at < rows * columns; at++) {
      cells[seen[at]]++;
      down[seen[at]] += Math.floor(at / columns);
      across[seen[at]] += at % columns;
    }
    const middle = (sums) => sums.map((sum, owner) => sum / (cells[owner] || 1));
    const [rowOf, columnOf] = [middle(down), middle(across)];
    const best = new Int32Array(256).fill(-1), most = new Float64Array(256).fill(-Infinity);
    for (let at = 0; at < rows * columns; at++) {
      const owner = seen[at], row = Math.floor(at / columns), column = at % columns;
      const away = Math.abs(row - rowOf[owner]) + Math.abs(column - columnOf[owner]);
      const worth = room[at] - LABEL_PULL * away;
      if (worth > most[owner]) [most[owner], best[owner]] = [worth, at];
    }
    return best;
  }

  /** Returns `best`, or where the label of `owner` was while that will do. */
  #stay(owner, best) {
    const last = this.#last.get(owner);
    if (!last) return best;
    const row = Math.round((last.row - this.top) / this.step), column = Math.round((last.column - this.left) / this.step / 2);
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return best;
    const at = row * this.columns + column;
    return this.seen[at] === owner && this.room[at] >= LABEL_STAYS * this.room[best] ? at : best;
  }
}

/** Writes labels at places that LabelPlaces has found. */
class Labels {
  #widths = new Map(); // of letters, in sizes

  constructor(context, film) { Object.assign(this, { context, film }); }

  /** Writes who owns each of `places`, its troops and perhaps density at `frame`, on what `painter` has painted. */
  draw(places, view, frame, { fill, patterns }, hasDensity) {
    const { context, film } = this;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const place of places) {
      const density = hasDensity ? film.density(place.owner, frame) : null;
      const { lines, size } = this.#wording(place, view.scale, short(film.troops[frame][place.owner]), density);
      if (!size) {
        this.#drawBelow(place, view);
        continue;
      }
      context.font = `600 ${size}px system-ui, sans-serif`;
      context.fillStyle = isLight(fill[place.owner]) ? "#000" : "#fff";
      const x = view.x + (place.column + 0.5) * view.scale;
      const y = view.y + (place.row + 0.5) * view.scale - (LABEL_LINE * size * (lines.length - 1)) / 2;
      lines.forEach((line, n) => {
        if (density && n === lines.length - 1) this.#drawChip(density, x, y + n * LABEL_LINE * size, size);
        else this.#write(line, x, y + n * LABEL_LINE * size, patterns[place.owner] && cssOf(fill[place.owner]));
      });
    }
  }

  /** Writes a text, with a `rim` of this colour where there is a pattern below. */
  #write(text, x, y, rim) {
    const { context } = this;
    Object.assign(context, { lineWidth: 5, lineJoin: "round", strokeStyle: rim });
    if (rim) context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }

  /** Writes a density on its colour, in the font that is set. */
  #drawChip({ text, fill, ink }, x, y, size) {
    const { context } = this, width = this.#width(text) * size + 0.6 * size, height = 1.05 * size;
    context.fillStyle = "#0008"; // a rim, for land of the same colour
    context.fillRect(x - width / 2 - 1, y - 0.55 * size - 1, width + 2, height + 2);
    context.fillStyle = fill;
    context.fillRect(x - width / 2, y - 0.55 * size, width, height);
    context.fillStyle = ink;
    context.fillText(text, x, y);
  }

  /** Writes the number of a seat whose land has no room for it below that, with a rim. */
  #drawBelow({ owner, row, column, height }, view) {
    const x = view.x + (column + 0.5) * view.scale, y = view.y + (row + 0.5 + Math.max(2, height / 2)) * view.scale + 8;
    writeFigure(this.context, x, y, this.#number(owner), LABEL_SIZES.at(-1));
  }

  /**
   * Returns what fits, and in which size, 0 for nothing: name and troops, number and troops, or the number.
   * With a `density` this is the last line of each, and alone where no more fits.
   */
  #wording({ owner, height, width }, scale, troops, density) {
    const number = this.#number(owner), name = number.replace(`P${owner}`, this.film.name(owner)), last = density ? [density.text] : [], few = density ? [[]] : [];
    for (const first of [[name, troops], [number, troops], [number], ...few]) {
      const lines = [...first, ...last];
      const widest = Math.max(...lines.map((line) => this.#width(line)));
      const most = 0.92 * scale * Math.min(width / widest, height / (LABEL_LINE * lines.length));
      const size = LABEL_SIZES.find((size) => size <= most);
      if (size) return { lines, size };
    }
    return { lines: [], size: 0 };
  }

  /** Returns the number of a seat, after that of its team. */
  #number(owner) {
    const team = this.film.teamOf(owner);
    return team ? `T${team} P${owner}` : `P${owner}`;
  }

  /** Returns how wide a text is, in sizes of its letters; texts change too often to measure each. */
  #width(text) {
    let width = 0;
    for (const letter of text) width += this.#widths.get(letter) ?? this.#measure(letter);
    return width;
  }

  #measure(letter) {
    this.context.font = "600 100px system-ui, sans-serif";
    const width = this.context.measureText(letter).width / 100;
    this.#widths.set(letter, width);
    return width;
  }
}
