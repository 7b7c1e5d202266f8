// Land and troops over the whole game; what is still to come lies under a veil.

const AXIS = 14; // pixels below a plot, for the ticks

/** Gives a canvas a size in pixels of CSS, and returns its context, which counts in these; `ratio`: its own for each of them. */
function sizedContext(canvas, width, height, ratio = devicePixelRatio) {
  const context = canvas.getContext("2d");
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** What both charts share: a canvas of its own size, the axis of ticks, the veil, the pointer. */
class Chart {
  constructor(section, film, palette) {
    Object.assign(this, { film, palette, seat: 0, horizon: 0, end: 0 });
    this.plot = section.querySelector(".plot");
    this.canvas = section.querySelector("canvas");
    this.future = section.querySelector(".future");
  }

  get width() { return this.plot.clientWidth; }
  get height() { return this.plot.clientHeight - AXIS; }

  /** Draws the frames up to `horizon` on an axis to tick `end`; `seat` (0: nobody) stands out. */
  draw(seat, horizon, end) {
    Object.assign(this, { horizon, end });
    if (!this.plot.clientWidth) return; // it is hidden
    this.context = sizedContext(this.canvas, this.plot.clientWidth, this.plot.clientHeight);
    Object.assign(this.context, { font: "11px system-ui, sans-serif", textBaseline: "bottom" });
    this.seat = seat;
    this.samples = this.#samples();
    this.drawPlot();
    this.#drawAxis();
  }

  /** Returns the frames that are drawn, not more than two a pixel, with their places x. */
  #samples() {
    const { film, width } = this, all = this.horizon + 1, few = Math.min(all, 2 * width);
    const frames = Array.from({ length: few }, (_, n) => Math.round((n * (all - 1)) / Math.max(1, few - 1)));
    return frames.map((frame) => ({ frame, x: (width * film.ticks[frame]) / Math.max(1, this.end) }));
  }

  #drawAxis() {
    const { context, width } = this, bottom = this.height + AXIS;
    context.fillStyle = this.colorOf("--faint");
    context.fillText("tick 0", 0, bottom);
    context.textAlign = "right";
    context.fillText(count(this.end), width, bottom);
  }

  colorOf(name) { return getComputedStyle(this.plot).getPropertyValue(name); }

  /** Fills what lies below a height at each sample, as a part of the plot's. */
  fillBelow(heights, color) {
    const { context, height, samples } = this;
    context.beginPath();
    context.moveTo(0, height);
    samples.forEach(({ x }, n) => context.lineTo(x, height * (1 - heights[n])));
    context.lineTo(samples.at(-1).x, height);
    context.fillStyle = color;
    context.fill();
  }

  /** Draws a line for each seat, through `pointsOf` it, [x, y]: the first over the others, and over all the one that stands out. */
  drawLines(pointsOf, thin, faint) {
    const { context, film, seat } = this;
    for (const one of [...film.standings(this.horizon).reverse(), ...(seat ? [seat] : [])]) {
      context.beginPath();
      for (const [x, y] of pointsOf(one)) context.lineTo(x, y);
      context.globalAlpha = seat && one !== seat ? faint : 1;
      context.lineWidth = one === seat ? 3 : thin;
      context.strokeStyle = this.palette.texts[one];
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** Lifts the veil up to `tick`. */
  lift(tick) {
    this.future.style.transform = `translateX(${(100 * tick) / Math.max(1, this.end)}%)`;
  }

  tickAt(x) { return Math.min(1, Math.max(0, x / this.width)) * this.end; }
}

/** Bands as wide as everybody's share of the land, the last one's winner at the bottom. */
class LandChart extends Chart {
  drawPlot() {
    const { context, film, height } = this;
    this.order = film.standings(this.horizon); // from the bottom up
    const tops = this.samples.map(() => 0), whole = film.numLand;
    context.fillStyle = this.palette.texts[NEUTRAL];
    context.fillRect(0, 0, this.samples.at(-1).x, height);
    const bands = this.order.map((seat) => {
      this.samples.forEach(({ frame }, n) => { tops[n] += film.land[frame][seat] / whole; });
      return { seat, tops: tops.slice() };
    });
    const { fill } = this.palette.pixels(this.seat);
    for (const band of bands.reverse()) this.fillBelow(band.tops, cssOf(fill[band.seat])); // each over those that lie above it
  }

  /** Returns the seat whose band is at (x, y) of the plot, or 0. */
  seatAt(x, y) {
    const land = this.film.land[this.film.frameAt(this.tickAt(x))];
    let room = (1 - y / this.height) * this.film.numLand;
    return this.order.find((seat) => (room -= land[seat]) < 0) ?? 0;
  }
}

/** A line of everybody's troops, each tenfold as far up as the one before. */
class TroopsChart extends Chart {
  drawPlot() {
    const { film } = this;
    const most = this.samples.reduce((top, { frame }) => Math.max(top, ...film.troops[frame]), 1000);
    this.top = Math.log10(most * 1.3);
    this.#drawGrid();
    const lived = (seat) => this.samples.filter(({ frame }) => film.alive[frame][seat]);
    this.drawLines((seat) => lived(seat).map(({ frame, x }) => [x, this.#y(film.troops[frame][seat])]), 1.25, 0.25);
  }

  /** The y of a number of troops: 100 and less at the bottom. */
  #y(troops) { return this.height * (1 - (Math.log10(Math.max(100, troops)) - 2) / (this.top - 2)); }

  #drawGrid() {
    const { context } = this, [line, faint] = [this.colorOf("--line"), this.colorOf("--faint")];
    for (let power = 3; power < this.top; power++) {
      const y = Math.round(this.#y(10 ** power));
      context.fillStyle = line;
      context.fillRect(0, y, this.width, 1);
      context.fillStyle = faint;
      context.fillText(["1K", "10K", "100K", "1M", "10M", "100M"][power - 3] ?? `1e${power}`, 2, y + 0.5);
    }
  }

  /** Returns the seat whose line is at (x, y) of the plot, or 0. */
  seatAt(x, y) {
    const frame = this.film.frameAt(this.tickAt(x)), { alive, troops } = this.film;
    return nearestTo(y, Array.from(troops[frame], (own, seat) => (alive[frame][seat] ? this.#y(own) : Infinity)));
  }
}

/** Returns the seat whose line is nearest to y and within 12 pixels, or 0; `ys`: by seat, 0 unused. */
function nearestTo(y, ys) {
  const away = ys.map((own) => Math.abs(own - y)), nearest = away.indexOf(Math.min(...away.slice(1)), 1);
  return away[nearest] < 12 ? nearest : 0;
}

/** A line of the place that everybody could expect, the first on top: `film.header.chances` has it at some moments. */
class ChancesChart extends Chart {
  constructor(section, film, palette) {
    super(section, film, palette);
    this.losses = section.querySelector("ol");
    section.hidden = !this.chances;
    if (this.chances) put(section.querySelector("p"), `expected place, of ${this.chances.games} games from each moment; ${this.chances.agents} plays on for agents`);
  }

  get chances() { return this.film.header.chances; }

  drawPlot() {
    const { film, seat, width, end, chances: { ticks, places } } = this, until = film.ticks[this.horizon];
    this.known = ticks.filter((tick) => tick <= until).map((tick, n) => ({ tick, places: places[n] }));
    const x = (tick) => (width * tick) / Math.max(1, end);
    const pointsOf = (one) => this.known.map(({ tick, places: then }) => [x(tick), this.#y(then[one - 1])]);
    this.drawLines(pointsOf, 1, 0.2);
    this.losses.replaceChildren(...(seat ? this.#largestLosses(seat) : []).map((loss) => this.#item(loss)));
  }

  #y(place) { return 2 + (this.height - 4) * ((place - 1) / Math.max(1, this.film.header.num_players - 1)); }

  /** Returns the three largest losses of a seat from one moment to the next: {tick, until, before, after}. */
  #largestLosses(seat) {
    const steps = this.known.slice(1).map(({ tick: until, places }, n) => {
      const { tick, places: earlier } = this.known[n];
      return { tick, until, before: earlier[seat - 1], after: places[seat - 1] };
    });
    const losses = steps.filter(({ before, after }) => after > before);
    return losses.sort((one, other) => other.after - other.before - one.after + one.before).slice(0, 3);
  }

  #item({ tick, until, before, after }) {
    const text = `ticks ${count(tick)} to ${count(until)}: from place ${before.toFixed(1)} to ${after.toFixed(1)}`;
    return newElement("li", {}, newElement("button", { type: "button", onclick: () => page.seek(tick) }, text));
  }

  seatAt(x, y) {
    const tick = this.tickAt(x), { places = [] } = this.known.findLast((one) => one.tick <= tick) ?? {};
    return nearestTo(y, [Infinity, ...places.map((place) => this.#y(place))]);
  }
}
