// Donations, as arrows from the land of the giver to that of the receiver.

const GIFT_TICKS = 40; // for so long a donation is shown; it fades
const GIFT_BEND = 0.18; // how far the middle of an arrow is beside the straight line, of its length
const GIFT_FREE = 26; // pixels that stay free at both ends, for the labels

class Gifts {
  constructor(context, film, palette) { Object.assign(this, { context, film, palette }); }

  /** Returns the donations at `frame`, each with the places where its arrow begins and ends. */
  find(board, width, frame, labels) {
    const gifts = this.film.recentGifts(frame, GIFT_TICKS);
    const spotOf = (owner) => {
      const label = labels.find((one) => one.owner === owner); // where the name stands, if it does
      return label ? { row: label.row + 0.5, column: label.column + 0.5 } : centerOf(board, width, owner);
    };
    const found = gifts.map((gift) => ({ gift, from: spotOf(gift.seat), to: spotOf(gift.target) }));
    return found.filter(({ from, to }) => from && to);
  }

  /** Draws donations that were found; those of `seat` (0: nobody) stand out. All have their troops in figures. */
  draw(places, view, tick, seat) {
    const point = ({ row, column }) => [view.x + column * view.scale, view.y + row * view.scale];
    for (const { gift, from, to } of places) {
      const isOther = seat && gift.seat !== seat && gift.target !== seat;
      const age = Math.max(0, tick - gift.tick) / GIFT_TICKS;
      this.context.globalAlpha = Math.max(0.25, 1 - 0.6 * age) * (isOther ? 0.3 : 1);
      this.#arrow(point(from), point(to), gift);
    }
    this.context.globalAlpha = 1;
  }

  #arrow([x0, y0], [x1, y1], { seat, troops }) {
    const { context } = this, length = Math.hypot(x1 - x0, y1 - y0);
    if (length < 4) return;
    const right = (x1 - x0) / length, down = (y1 - y0) / length, free = Math.min(GIFT_FREE, length / 5);
    const bend = GIFT_BEND * length, thick = Math.min(5, 1.5 + 0.7 * Math.log10(Math.max(10, troops)));
    const at = (along, aside) => [x0 + right * along - down * aside, y0 + down * along + right * aside];
    const start = at(free, bend / 4), middle = at(length / 2, 1.6 * bend), end = at(length - free, bend / 4);
    const way = Math.atan2(end[1] - middle[1], end[0] - middle[0]), head = 4 * thick;
    const tip = (turn, far) => [end[0] - far * Math.cos(way + turn), end[1] - far * Math.sin(way + turn)];
    const line = new Path2D(), point = new Path2D();
    line.moveTo(...start);
    line.quadraticCurveTo(...middle, ...tip(0, 0.7 * head));
    point.moveTo(...end);
    point.lineTo(...tip(0.5, head));
    point.lineTo(...tip(-0.5, head));
    point.closePath();
    context.lineJoin = context.lineCap = "round";
    for (const [color, wider] of [["#fff", 5], ["#000", 2.5], [this.palette.texts[seat], 0]]) {
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = thick + wider;
      context.stroke(line);
      context.lineWidth = wider;
      if (wider) context.stroke(point);
      context.fill(point);
    }
    context.lineCap = "butt";
    const [x, y] = at(length / 2, 0.9 * bend);
    writeFigure(context, x, y, `+${short(troops)}`);
  }
}
