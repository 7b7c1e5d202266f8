"use strict";
// Land and troops over the whole game; what is still to come lies under a veil.

const AXIS = 14; // pixels below a plot, for the ticks

/** What both charts share: a canvas of its own size, the axis of ticks, the veil, the pointer. */
class Chart {
  constructor(section, film, palette) {
    Object.assign(this, { film, palette, seat: 0, horizon: 0, end: 0 });
    this.plot = section.querySelector(".plot");
    this.canvas = section.querySelector("canvas");
    this.future = section.querySelector(".future");
    this.context = this.canvas.getContext("2d");
  }

  get width() { return this.plot.clientWidth; }
  get height() { return this.plot.clientHeight - AXIS; }

  /** Draws the frames up to `horizon` on an axis to tick `end`; `seat` (0: nobody) stands out. */
  draw(seat, horizon, end) {
    Object.assign(this, { horizon, end });
    if (!this.plot.clientWidth) return; // it is hidden
    const { context } = this, ratio = devicePixelRatio;
    this.canvas.width = Math.round(this.plot.clientWidth * ratio);
    this.canvas.height = Math.round(this.plot.clientHeight * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
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
    const { context, width } = this;
    context.fillStyle = getComputedStyle(this.plot).getPropertyValue("--faint");
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "bottom";
    context.textAlign = "left";
    context.fillText("tick 0", 0, this.height + AXIS);
    context.textAlign = "right";
    context.fillText(count(this.end), width, this.height + AXIS);
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
    context.clearRect(0, 0, this.width, height + AXIS);
    context.fillRect(0, 0, this.samples.at(-1).x, height);
    const bands = this.order.map((seat) => {
      this.samples.forEach(({ frame }, n) => { tops[n] += film.land[frame][seat] / whole; });
      return { seat, tops: tops.slice() };
    });
    for (const band of bands.reverse()) this.#drawBand(band); // each over those that lie above it
  }

  #drawBand({ seat, tops }) {
    const { context, height } = this;
    context.beginPath();
    context.moveTo(0, height);
    this.samples.forEach(({ x }, n) => context.lineTo(x, height * (1 - tops[n])));
    context.lineTo(this.samples.at(-1).x, height);
    context.fillStyle = cssOf(this.palette.pixels(this.seat).fill[seat]);
    context.fill();
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
    const { context, film } = this;
    context.clearRect(0, 0, this.width, this.height + AXIS);
    const most = this.samples.reduce((top, { frame }) => Math.max(top, ...film.troops[frame]), 1000);
    this.top = Math.log10(most * 1.3);
    this.#drawGrid();
    for (const seat of film.standings(this.horizon).reverse()) this.#drawLine(seat);
    if (this.seat) this.#drawLine(this.seat);
  }

  /** The y of a number of troops: 100 and less at the bottom. */
  #y(troops) { return this.height * (1 - (Math.log10(Math.max(100, troops)) - 2) / (this.top - 2)); }

  #drawGrid() {
    const { context } = this, style = getComputedStyle(this.plot);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "bottom";
    context.lineWidth = 1;
    context.strokeStyle = style.getPropertyValue("--line");
    context.fillStyle = style.getPropertyValue("--faint");
    for (let power = 3; power < this.top; power++) {
      const y = Math.round(this.#y(10 ** power)) + 0.5;
      context.beginPath();
      context.moveTo(0, y);
      context.lineTo(this.width, y);
      context.stroke();
      context.fillText(["1K", "10K", "100K", "1M", "10M", "100M"][power - 3] ?? `1e${power}`, 2, y);
    }
  }

  #drawLine(seat) {
    const { context, film } = this;
    context.beginPath();
    for (const { frame, x } of this.samples) {
      if (film.alive[frame][seat]) context.lineTo(x, this.#y(film.troops[frame][seat]));
    }
    context.globalAlpha = this.seat && seat !== this.seat ? 0.25 : 1;
    context.lineWidth = seat === this.seat ? 3 : 1.25;
    context.strokeStyle = this.palette.texts[seat];
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Returns the seat whose line is nearest to (x, y) of the plot and within 12 pixels, or 0. */
  seatAt(x, y) {
    const frame = this.film.frameAt(this.tickAt(x)), { alive, troops } = this.film;
    let nearest = 0, distance = 12;
    for (let seat = 1; seat < troops[frame].length; seat++) {
      const away = Math.abs(this.#y(troops[frame][seat]) - y);
      if (alive[frame][seat] && away < distance) [nearest, distance] = [seat, away];
    }
    return nearest;
  }
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
    const { context, chances, film, seat } = this, until = film.ticks[this.horizon];
    context.clearRect(0, 0, this.width, this.height + AXIS);
    this.known = chances ? chances.ticks.filter((tick) => tick <= until).length : 0;
    for (const one of film.standings(this.horizon).reverse()) if (one !== seat) this.#drawLine(one);
    if (seat) this.#drawLine(seat);
    this.losses.replaceChildren(...(seat ? this.#largestLosses(seat) : []).map((loss) => this.#item(loss)));
  }

  #y(place) { return 2 + (this.height - 4) * ((place - 1) / Math.max(1, this.film.header.num_players - 1)); }

  #drawLine(seat) {
    const { context, chances } = this;
    context.beginPath();
    for (let n = 0; n < this.known; n++) context.lineTo((this.width * chances.ticks[n]) / Math.max(1, this.end), this.#y(chances.places[n][seat - 1]));
    context.globalAlpha = this.seat && seat !== this.seat ? 0.2 : 1;
    context.lineWidth = seat === this.seat ? 3 : 1;
    context.strokeStyle = this.palette.texts[seat];
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Returns the three largest losses of a seat from one moment to the next: {tick, until, before, after}. */
  #largestLosses(seat) {
    const { ticks, places } = this.chances, losses = [];
    for (let n = 1; n < this.known; n++) {
      const before = places[n - 1][seat - 1], after = places[n][seat - 1];
      if (after > before) losses.push({ tick: ticks[n - 1], until: ticks[n], before, after });
    }
    return losses.sort((one, other) => other.after - other.before - one.after + one.before).slice(0, 3);
  }

  #item({ tick, until, before, after }) {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    put(button, `ticks ${count(tick)} to ${count(until)}: from place ${before.toFixed(1)} to ${after.toFixed(1)}`);
    button.addEventListener("click", () => page.seek(tick));
    item.append(button);
    return item;
  }

  seatAt(x, y) {
    const tick = this.tickAt(x), n = this.chances.ticks.findLastIndex((one) => one <= tick);
    let nearest = 0, distance = 12;
    for (const [number, place] of (n < this.known ? this.chances.places[n] ?? [] : []).entries()) {
      const away = Math.abs(this.#y(place) - y);
      if (away < distance) [nearest, distance] = [number + 1, away];
    }
    return nearest;
  }
}

/** Returns a pixel as a colour of CSS. */
const cssOf = (pixel) => `rgb(${pixel & 255}, ${(pixel >> 8) & 255}, ${(pixel >> 16) & 255})`;
