// The line of time: marks over the slider, and the list of highlights.

const MARKS_EDGE = 8; // half a handle of the slider: where its first tick is
const MARKS_REACH = 6; // pixels from a mark within which the pointer finds it

/** Returns where a tick is on a line of `width` pixels that ends at tick `end`, as on the slider. */
const placeOf = (tick, width, end) => MARKS_EDGE + ((width - 2 * MARKS_EDGE) * tick) / Math.max(1, end);

/** Marks over the line of time, {tick, x, ...}: `drawMark` draws one, and `meaning` is what it stands for. */
class Strip {
  marks = [];
  #drawn = "";

  constructor(canvas, film, palette) { Object.assign(this, { canvas, film, palette }); }

  /** Draws marks on a line that ends at tick `end`; returns false if those of this `version` are there. */
  draw(marks, end, version) {
    const { canvas } = this, { clientWidth: width, clientHeight: height } = canvas;
    const wanted = [width, devicePixelRatio, end, ...version].join();
    if (wanted === this.#drawn) return false;
    this.#drawn = wanted;
    this.marks = marks.map((mark) => ({ ...mark, x: placeOf(mark.tick, width, end) }));
    const context = sizedContext(canvas, width, height);
    context.strokeStyle = getComputedStyle(canvas).getPropertyValue("--ink");
    for (const mark of this.marks) this.drawMark(context, height, mark);
    return true;
  }

  /** Returns the mark nearest to x pixels, or undefined if none is near. */
  markAt(x) {
    const away = (mark) => Math.abs(mark.x - x);
    const near = this.marks.filter((mark) => away(mark) <= MARKS_REACH);
    return near.sort((one, other) => away(one) - away(other))[0];
  }

  /** Returns what the mark at x pixels stands for, empty for none. */
  textAt(x) {
    const mark = this.markAt(x);
    return mark ? `tick ${count(mark.tick)}: ${this.meaning(mark)}` : "";
  }
}

/** Deaths are bars, changes of leader are triangles, in the colours of the players. */
class Timeline extends Strip {
  constructor(canvas, list, events, palette) {
    super(canvas, events.film, palette);
    Object.assign(this, { list, events });
  }

  /** Shows what is known at tick `known` on a line that ends at tick `end`. */
  show(known, end) {
    if (!this.canvas.clientWidth) return; // it is hidden
    const deaths = this.events.deaths.filter(({ tick }) => tick <= known);
    const leads = this.events.leads.filter(({ until }) => until <= known);
    const highlights = this.events.highlights(known), texts = highlights.map(({ text }) => text);
    const markOf = (isLead) => ({ tick, seat }) => ({ tick, seat, isLead });
    const marks = [...deaths.map(markOf(false)), ...leads.map(markOf(true))];
    if (!this.draw(marks, end, [deaths.length, leads.length, ...texts])) return;
    const options = highlights.map(({ tick, text }) => new Option(`${count(tick)}: ${text}`, tick));
    this.list.replaceChildren(new Option("go to ...", ""), ...options);
    this.list.disabled = !highlights.length;
  }

  drawMark(context, height, { x, seat, isLead }) {
    const half = height / 2, bar = `M${x - 1.5} ${half}h3v${half}h-3z`;
    const shape = new Path2D(isLead ? `M${x - 5} 0.5h10L${x} ${height - 1}z` : bar);
    context.fillStyle = this.palette.texts[seat];
    context.lineWidth = isLead ? 1 : 0.5;
    context.fill(shape);
    context.stroke(shape);
  }

  meaning({ seat, isLead }) {
    return isLead ? `${this.film.sideName(seat)} takes the lead` : `${this.film.name(seat)} is out`;
  }
}
