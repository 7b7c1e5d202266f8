// The board: cells painted on a canvas, and where that lies in the window.

const PLAIN = 0, STRIPES = 1, DOTS = 2; // patterns of land

/** Paints owner codes as squares with darker sides where the owner changes, as render_board does. */
class Painter {
  canvas = new OffscreenCanvas(1, 1);
  version = 0; // of the canvas: another one wherever it has changed

  constructor(height, width) {
    const { canvas } = this, side = Math.max(height, width);
    const size = Math.max(2, Math.min(8, Math.floor(1024 / side))); // pixels of a cell
    Object.assign(this, { height, width, size });
    Object.assign(canvas, { height: height * size, width: width * size });
    this.context = canvas.getContext("2d", { alpha: false });
    this.image = this.context.createImageData(canvas.width, canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.painted = new Uint8Array(height * width);
    this.isStale = new Uint8Array(height * width);
    this.stale = []; // the cells that are, in any order
    this.fill = this.side = null;
    this.patterns = new Uint8Array(256); // by owner code: PLAIN, STRIPES or DOTS
    this.grain = Math.round((12 * side * size) / 1024); // pixels from one stripe to the next
  }

  /** Takes colours by owner code; all cells are painted anew with them. */
  setColors(fill, side) {
    this.fill = fill;
    this.side = side;
    this.ink = fill.map(inkOf);
    this.#markAll();
  }

  /** Paints the land of `seat`, which is one's own, with stripes and that of allies with dots, for eyes of every kind. */
  setPatterns(seat, isAlly) {
    this.patterns = this.patterns.map((_, owner) => (owner && owner === seat ? STRIPES : isAlly(owner) ? DOTS : PLAIN));
    this.#markAll();
  }

  #markAll() {
    for (let cell = 0; cell < this.isStale.length; cell++) this.#mark(cell);
  }

  #mark(cell) {
    if (this.isStale[cell]) return;
    this.isStale[cell] = 1;
    this.stale.push(cell);
  }

  /** Makes the canvas show `board`. */
  paint(board) {
    const { painted, width } = this;
    for (let cell = 0; cell < board.length; cell++) {
      if (board[cell] === painted[cell]) continue;
      const column = cell % width;
      this.#mark(cell);
      if (column > 0) this.#mark(cell - 1);
      if (column < width - 1) this.#mark(cell + 1);
      if (cell >= width) this.#mark(cell - width);
      if (cell + width < board.length) this.#mark(cell + width);
    }
    if (!this.stale.length) return;
    painted.set(board);
    this.version++;
    this.#paintStale(board);
  }

  /** Paints the stale cells, and shows every strip of rows from the first to the last of their columns. */
  #paintStale(board) {
    const { width, size } = this, strips = [];
    for (const cell of this.stale) {
      this.isStale[cell] = 0;
      const row = Math.floor(cell / width), column = cell - row * width;
      this.#paintCell(board, cell, row, column);
      const strip = strips[row >> 4] ??= { first: column, last: column };
      strip.first = Math.min(strip.first, column);
      strip.last = Math.max(strip.last, column);
    }
    this.stale.length = 0;
    strips.forEach(({ first, last }, n) => {
      const box = [first, 16 * n, last - first + 1, 16].map((cells) => cells * size);
      this.context.putImageData(this.image, 0, 0, ...box);
    });
  }

  #paintCell(board, cell, row, column) {
    const { size, width, height } = this, owner = board[cell];
    this.#box(row, column, 0, 0, size, size, this.fill[owner]);
    if (owner === NEUTRAL) return;
    if (this.patterns[owner]) this.#paintPattern(row, column, owner);
    const line = Math.max(1, size >> 2), far = size - line, side = this.side[owner];
    if (row > 0 && board[cell - width] !== owner) this.#box(row, column, 0, 0, line, size, side);
    if (row < height - 1 && board[cell + width] !== owner) this.#box(row, column, far, 0, line, size, side);
    if (column > 0 && board[cell - 1] !== owner) this.#box(row, column, 0, 0, size, line, side);
    if (column < width - 1 && board[cell + 1] !== owner) this.#box(row, column, 0, far, size, line, side);
  }

  #paintPattern(row, column, owner) {
    const { size, width, grain, patterns, ink, pixels } = this, part = grain / 4;
    for (let y = row * size; y < (row + 1) * size; y++) {
      for (let x = column * size; x < (column + 1) * size; x++) {
        const isInk = patterns[owner] === STRIPES ? (x + y) % grain < part : x % grain < part && y % grain < part;
        if (isInk) pixels[y * width * size + x] = ink[owner];
      }
    }
  }

  /** Fills a box within a cell: its first line and column, its height and width in pixels. */
  #box(row, column, top, left, height, width, color) {
    const stride = this.width * this.size;
    let at = (row * this.size + top) * stride + column * this.size + left;
    for (let y = 0; y < height; y++, at += stride) {
      for (let x = 0; x < width; x++) this.pixels[at + x] = color;
    }
  }
}

/** Where the board lies in the window: zoom, pan, and which cell is under the pointer. */
class View {
  /** `moved()` is called whenever the board lies elsewhere than before. */
  constructor(box, painter, moved) {
    const { height, width } = painter;
    Object.assign(this, { box, painter, moved, scale: 1, x: 0, y: 0, isFitted: true });
    this.area = { top: 0, left: 0, bottom: height, right: width };
    this.#measure();
    this.fit();
  }

  /** Asks for the size of the window: only when it may have changed, as the browser must lay out the page first. */
  #measure() {
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    const { offsetWidth, offsetTop, offsetHeight, offsetLeft } = element("zoom");
    const isRow = offsetWidth > this.width / 2;
    this.covered = isRow ? offsetTop + offsetHeight : 0; // on phones a row of buttons lies over the top
    this.beside = isRow ? this.width : offsetLeft - 4; // where a column of them begins
  }

  get #fitScale() {
    const { top, left, bottom, right } = this.area;
    return Math.min(this.width / (right - left), (this.height - this.covered) / (bottom - top));
  }

  /** From now on "the whole board" is the part in which there is any land, if that is much smaller. */
  crop(board) {
    this.area = landOf(board, this.painter.width, this.painter.height);
    this.fit();
  }

  /** The cells that can be seen. */
  get seen() { return this.under(0, 0, this.width, this.height); }

  /** Returns the rows and columns that lie under a box of the window. */
  under(left, top, width, height) {
    const { scale, x, y, painter } = this, first = (at) => Math.max(0, Math.floor(at / scale));
    const last = (at, most) => Math.min(most, Math.ceil(at / scale));
    return {
      top: first(top - y), left: first(left - x),
      bottom: last(top + height - y, painter.height), right: last(left + width - x, painter.width),
    };
  }

  /** Shows the whole board. */
  fit() {
    const { top, left, bottom, right } = this.area;
    this.isFitted = true;
    this.scale = this.#fitScale;
    const middle = (this.width - (left + right) * this.scale) / 2; // further left if there is room beside the buttons
    this.x = Math.max(-left * this.scale, Math.min(middle, this.beside - right * this.scale));
    this.y = (this.height + this.covered - (top + bottom) * this.scale) / 2;
    this.#place();
  }

  /** Keeps what is seen after the window has changed its size. */
  resize() {
    this.#measure();
    if (this.isFitted || this.scale < this.#fitScale) this.fit();
    else this.#place();
  }

  /** Zooms by `factor` and leaves the point (px, py) of the window where it is. */
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const scale = Math.min(64, this.scale * factor);
    if (scale <= this.#fitScale) {
      this.fit();
      return;
    }
    this.x = px - ((px - this.x) * scale) / this.scale;
    this.y = py - ((py - this.y) * scale) / this.scale;
    this.scale = scale;
    this.isFitted = false;
    this.#place();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.#place();
  }

  /** Goes a part of the way, up to 1, towards having the point (row, column) in the middle. */
  approach(row, column, part) {
    const dx = this.width / 2 - this.x - column * this.scale;
    const dy = this.height / 2 - this.y - row * this.scale;
    if (Math.hypot(dx, dy) >= 0.5) this.pan(dx * part, dy * part);
  }

  /** Shows the board where it is, once the middle of the window lies on it. */
  #place() {
    const keep = (at, size, room) => Math.min(room / 2, Math.max(room / 2 - size * this.scale, at));
    this.x = keep(this.x, this.painter.width, this.width);
    this.y = keep(this.y, this.painter.height, this.height);
    this.moved();
  }

  /** Returns {row, column, cell} at the point (px, py) of the window, or null beside the board. */
  cellAt(px, py) {
    const row = Math.floor((py - this.y) / this.scale), column = Math.floor((px - this.x) / this.scale);
    const { height, width } = this.painter;
    if (row < 0 || column < 0 || row >= height || column >= width) return null;
    return { row, column, cell: row * width + column };
  }
}

const MUCH = 0.8; // of the board: where land reaches over more, all of it is shown

/** Returns the rows and columns that hold land, and one more on each side; all if that is most of the board. */
function landOf(board, width, height) {
  const isLand = (owner) => owner !== BLOCKED, all = { top: 0, left: 0, bottom: height, right: width };
  const rows = Array.from({ length: height }, (_, row) => board.subarray(row * width, (row + 1) * width));
  const first = rows.map((row) => row.findIndex(isLand)), last = rows.map((row) => row.findLastIndex(isLand));
  const hasLand = (at) => at >= 0;
  const area = {
    top: Math.max(0, first.findIndex(hasLand) - 1), left: Math.max(0, Math.min(...first.filter(hasLand)) - 1),
    bottom: Math.min(height, first.findLastIndex(hasLand) + 2), right: Math.min(width, Math.max(...last) + 2),
  };
  const isMuch = (area.bottom - area.top) * (area.right - area.left) > MUCH * board.length;
  return isMuch || !last.some(hasLand) ? all : area;
}

/** Returns the mean row and column of the cells of `owner`, or null if it has none. */
function centerOf(board, width, owner) {
  let count = 0, rows = 0, columns = 0;
  for (let cell = board.indexOf(owner); cell >= 0; cell = board.indexOf(owner, cell + 1)) {
    count++;
    rows += Math.floor(cell / width);
    columns += cell % width;
  }
  return count ? { row: rows / count + 0.5, column: columns / count + 0.5 } : null;
}
