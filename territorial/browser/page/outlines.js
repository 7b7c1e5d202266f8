// Lines over the board: around the player's own land, all that can be attacked, and allies.

const TARGET_SIDE = 1, OWN_SIDE = 2, ALLY_SIDE = 3; // 0: no line
const SMALL_LAND = 24; // pixels of a side: own land that is smaller has a ring around it, so that it is found
const RING_RADIUS = 26; // pixels

class Outlines {
  version = ""; // of what is drawn: another one wherever that has changed
  #seat = 0;
  #paths = [];

  constructor(page) { this.page = page; }

  /** From now on the land of `seat` is drawn, the owner codes of the set `legal` and those of allies. */
  show(seat, legal, isAlly) {
    const version = `${seat};${[...legal].sort()};${this.page.frame}`;
    if (this.version === version) return;
    this.version = version;
    this.#paths = this.#trace(seat, legal, isAlly);
    this.#seat = seat;
  }

  /** Returns the sides of cells, in cells: [around what can be attacked, around own land, around allies]. */
  #trace(seat, legal, isAlly) {
    const { board, painter: { height, width } } = this.page, sides = sidesOf(seat, legal, isAlly);
    const paths = [null, new Path2D(), new Path2D(), new Path2D()];
    const line = (side, ...ends) => {
      if (!side) return;
      paths[side].moveTo(ends[0], ends[1]);
      paths[side].lineTo(ends[2], ends[3]);
    };
    const left = new Uint8Array(width), tops = new Uint32Array(width); // by column: the line left of it, and where that begins
    for (let row = 0, cell = 0; row < height; row++) {
      let above = 0, begin = 0, last = board[cell];
      for (let column = 0; column < width; column++, cell++) {
        const owner = board[cell], up = row ? board[cell - width] : owner;
        const nextAbove = up === owner ? 0 : sides[256 * up + owner], nextLeft = last === owner ? 0 : sides[256 * last + owner];
        if (nextAbove !== above) {
          line(above, begin, row, column, row);
          [above, begin] = [nextAbove, column];
        }
        if (nextLeft !== left[column]) {
          line(left[column], column, tops[column], column, row);
          [left[column], tops[column]] = [nextLeft, row];
        }
        last = owner;
      }
      line(above, begin, row, width, row);
    }
    left.forEach((side, column) => line(side, column, tops[column], column, height));
    return [paths[TARGET_SIDE], paths[OWN_SIDE], paths[ALLY_SIDE]];
  }

  /** Draws on what shows `view` with `ratio` pixels for each of CSS. */
  draw(context, view, ratio) {
    if (!this.version) return;
    const scale = view.scale * ratio, unit = ratio / scale;
    context.setTransform(scale, 0, 0, scale, view.x * ratio, view.y * ratio);
    context.lineCap = "square";
    const [targets, own, allies] = this.#paths, ring = this.#ring(view), gaps = [6, 5];
    const lines = [[allies, "#fffc", 3, gaps], [allies, "#000", 1.5, gaps], [own, "#000c", 3], [targets, "#000a", 4], [targets, "#fff", 2]];
    const rings = [[ring, "#000a", 6], [ring, this.page.palette.texts[this.#seat], 4]];
    for (const [path, color, pixels, dashes = []] of [...lines, ...rings]) {
      context.setLineDash(dashes.map((dash) => dash * unit));
      context.strokeStyle = color;
      context.lineWidth = pixels * unit;
      context.stroke(path);
    }
  }

  /** Returns a ring around own land, in cells; nothing where that can be seen without. */
  #ring({ scale }) {
    const { board, painter: { width }, film, frame } = this.page, ring = new Path2D();
    const land = this.#seat ? film.land[frame][this.#seat] : 0;
    if (land && Math.sqrt(land) * scale < SMALL_LAND) {
      const { row, column } = centerOf(board, width, this.#seat);
      ring.arc(column, row, RING_RADIUS / scale, 0, 2 * Math.PI);
    }
    return ring;
  }
}

/** Returns a table, by 256 * owner code + owner code beside it, of the kind of side that is between them. */
function sidesOf(seat, legal, isAlly) {
  const table = new Uint8Array(256 * 256);
  const set = (a, b, side) => { table[256 * a + b] = table[256 * b + a] = side; };
  const surround = (owner, side) => {
    for (let other = 0; other < BLOCKED; other++) set(owner, other, side); // coasts can be seen as they are
    set(owner, owner, 0);
  };
  for (let owner = 1; owner < BLOCKED; owner++) if (isAlly(owner)) surround(owner, ALLY_SIDE);
  const others = [...legal].filter((owner) => owner !== NEUTRAL); // of free land, only the front
  for (const owner of others) surround(owner, TARGET_SIDE);
  if (!seat) return table; // of who only watches
  surround(seat, OWN_SIDE);
  set(seat, BLOCKED, OWN_SIDE);
  if (legal.has(NEUTRAL)) set(seat, NEUTRAL, TARGET_SIDE);
  return table;
}
