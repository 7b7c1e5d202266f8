// What the followed seat launched, over the line of time: the colour of the target, the height of the share.

const LAUNCHES_HEIGHT = 14;

class LaunchStrip {
  #drawn = "";
  #shown = [];

  constructor(canvas, film, palette) { Object.assign(this, { canvas, film, palette }); }

  /** Shows the launches of `seat` (0: hides all) before tick `until` on a line that ends at tick `end`. */
  show(seat, until, end) {
    const { canvas, film } = this;
    canvas.hidden = !seat;
    if (!seat) return;
    const shown = (film.launches[seat] ?? []).filter(({ tick }) => tick < until), width = canvas.clientWidth;
    const wanted = [seat, width, devicePixelRatio, end, shown.length].join();
    if (wanted === this.#drawn) return;
    this.#drawn = wanted;
    this.#shown = shown.map((launch) => ({ ...launch, x: placeOf(launch.tick, width, end) }));
    canvas.ariaLabel = `launches of ${film.name(seat)}: ${count(shown.length)}`;
    this.#draw(width);
  }

  #draw(width) {
    const { canvas, palette } = this, context = sizedContext(canvas, width, LAUNCHES_HEIGHT);
    context.strokeStyle = getComputedStyle(canvas).getPropertyValue("--ink");
    context.lineWidth = 0.5;
    for (const { x, target, fraction } of this.#shown) {
      const height = 3 + (LAUNCHES_HEIGHT - 3) * Math.sqrt(fraction / 1024); // most shares are small
      context.fillStyle = palette.texts[target];
      context.fillRect(x - 1.5, LAUNCHES_HEIGHT - height, 3, height);
      context.strokeRect(x - 1.5, LAUNCHES_HEIGHT - height, 3, height);
    }
  }

  /** Returns the launch nearest to x pixels, or undefined if none is near. */
  markAt(x) { return nearestMark(this.#shown, x); }

  textAt(x) {
    const launch = this.markAt(x);
    return launch ? `tick ${count(launch.tick)}: ${shareOf(launch.fraction)} at ${ownerName(this.film, launch.target)}` : "";
  }
}
