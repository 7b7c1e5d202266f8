// What the followed seat launched, over the line of time: the colour of the target, the height of the share.

class LaunchStrip extends Strip {
  /** Shows the launches of `seat` (0: hides all) before tick `until` on a line that ends at tick `end`. */
  show(seat, until, end) {
    const { canvas, film } = this;
    canvas.hidden = !seat;
    if (!seat) return;
    const shown = (film.launches[seat] ?? []).filter(({ tick }) => tick < until);
    canvas.ariaLabel = `launches of ${film.name(seat)}: ${count(shown.length)}`;
    this.draw(shown, end, [seat, shown.length]);
  }

  drawMark(context, most, { x, target, fraction }) {
    const height = 3 + (most - 3) * Math.sqrt(fraction / 1024); // most shares are small
    context.fillStyle = this.palette.texts[target];
    context.lineWidth = 0.5;
    context.fillRect(x - 1.5, most - height, 3, height);
    context.strokeRect(x - 1.5, most - height, 3, height);
  }

  meaning({ target, fraction }) { return `${shareOf(fraction)} at ${ownerName(this.film, target)}`; }
}
