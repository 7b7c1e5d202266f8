// Who attacks whom, as arrows over the fronts.

const ARROW_NEAR = 6; // cells of a front that give an arrow its direction
const FRONT_ROWS = 256; // of the board that are looked at, at most: else every second, third ... one

/** Finds a place on the front of every attack, and stays near it as the front moves. */
class FrontPlaces {
  #last = new Map(); // by attack: where its arrow was

  /** Returns [{attack, row, column, down, right}]: edges of cells within `area`, and the way across the front. */
  find(board, width, area, attacks) {
    const edges = new Map(attacks.map((attack) => [codeOf(attack), []]));
    this.#walk(board, width, area, edges);
    const seen = attacks.filter((attack) => edges.get(codeOf(attack)).length);
    const places = seen.map((attack) => this.#place(attack, edges.get(codeOf(attack))));
    this.#last = new Map(places.map((place) => [codeOf(place.attack), place]));
    return places;
  }

  #walk(board, width, { top, left, bottom, right }, edges) {
    const note = (a, b, row, column, down, right) => {
      edges.get(256 * a + b)?.push({ row, column, down, right });
      edges.get(256 * b + a)?.push({ row, column, down: -down, right: -right });
    };
    const step = Math.ceil(Math.max(bottom - top, right - left) / FRONT_ROWS), below = step * width;
    for (let row = top - (top % step); row < bottom; row += step) {
      const hasBelow = row + step < bottom;
      for (let column = left - (left % step), cell = row * width + column; column < right; column += step, cell += step) {
        const owner = board[cell];
        if (column + step < right && board[cell + step] !== owner) {
          note(owner, board[cell + step], row + 0.5, column + (step + 1) / 2, 0, 1);
        }
        if (hasBelow && board[cell + below] !== owner) {
          note(owner, board[cell + below], row + (step + 1) / 2, column + 0.5, 1, 0);
        }
      }
    }
  }

  /** Returns the edge nearest to where the arrow was, or to the middle of the front, and the way it points. */
  #place(attack, edges) {
    const aim = this.#last.get(codeOf(attack)) ?? middleOf(edges);
    const away = (edge, from) => Math.hypot(edge.row - from.row, edge.column - from.column);
    const { row, column, ...way } = edges.reduce((best, edge) => (away(edge, aim) < away(best, aim) ? edge : best));
    let down = 0, right = 0;
    for (const edge of edges) {
      if (away(edge, { row, column }) > ARROW_NEAR) continue;
      down += edge.down;
      right += edge.right;
    }
    const length = Math.hypot(down, right);
    return length < 0.5 ? { attack, row, column, ...way } : { attack, row, column, down: down / length, right: right / length };
  }
}

const codeOf = ({ seat, target }) => 256 * seat + target;

function middleOf(edges) {
  const sum = (name) => edges.reduce((total, edge) => total + edge[name], 0) / edges.length;
  return { row: sum("row"), column: sum("column") };
}

/** Draws arrows at places that FrontPlaces has found: larger for more troops, and advancing as time passes. */
class Arrows {
  constructor(context, palette) { Object.assign(this, { context, palette }); }

  /** `seat` (0: nobody) stands out: its attacks, and those on it, also get their troops in figures. */
  draw(places, view, tick, seat) {
    for (const { attack, row, column, down, right } of places) {
      const isOwn = seat && (attack.seat === seat || attack.target === seat);
      const strength = Math.max(attack.troops, 10 * attack.cells);
      const length = Math.min(40, 8 + 5 * Math.log10(Math.max(10, strength))) * Math.min(1, 0.4 + view.scale / 5);
      const step = ((tick % 20) / 20 - 0.5) * 5; // it moves with the ticks: at rest it does not
      const x = view.x + column * view.scale + right * step, y = view.y + row * view.scale + down * step;
      this.context.globalAlpha = seat && !isOwn ? 0.25 : 1;
      this.#arrow(x, y, right, down, length, this.palette.texts[attack.seat]);
      if (isOwn && attack.troops) writeFigure(this.context, x + right * length, y + down * length, short(attack.troops));
    }
    this.context.globalAlpha = 1;
  }

  #arrow(x, y, right, down, length, color) {
    const { context } = this, thick = length / 7;
    const point = (ahead, aside) => [x + right * ahead - down * aside, y + down * ahead + right * aside];
    const outline = [[-0.5, -1], [0.05, -1], [0.05, -2.6], [0.5, 0], [0.05, 2.6], [0.05, 1], [-0.5, 1]];
    context.beginPath();
    for (const [ahead, aside] of outline) context.lineTo(...point(ahead * length, aside * thick));
    context.closePath();
    context.lineJoin = "round";
    for (const [strokeStyle, lineWidth] of [["#fff", 3.5], ["#000", 1.5]]) {
      Object.assign(context, { strokeStyle, lineWidth });
      context.stroke();
    }
    context.fillStyle = color;
    context.fill();
  }
}

/** Writes a number that is read on whatever is there, in letters of `size` pixels. */
function writeFigure(context, x, y, text, size = 12) {
  const font = `600 ${size}px system-ui, sans-serif`;
  Object.assign(context, { font, textAlign: "center", textBaseline: "middle", fillStyle: "#000" });
  Object.assign(context, { strokeStyle: "#fff", lineWidth: 3, lineJoin: "round" });
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}
