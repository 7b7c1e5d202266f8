// The line of time: marks over the slider, and the list of highlights.

const MARKS_HEIGHT = 12;
const MARKS_EDGE = 8; // half a handle of the slider: where its first tick is
const MARKS_REACH = 6; // pixels from a mark within which the pointer finds it

/** Returns where a tick is on a line of `width` pixels that ends at tick `end`, as on the slider. */
const placeOf = (tick, width, end) => MARKS_EDGE + ((width - 2 * MARKS_EDGE) * tick) / Math.max(1, end);

/** Returns the mark that is nearest to x pixels, or undefined if none is near. */
function nearestMark(marks, x) {
  const away = (mark) => Math.abs(mark.x - x), near = marks.filter((mark) => away(mark) <= MARKS_REACH);
  return near.sort((one, other) => away(one) - away(other))[0];
}

class Timeline {
  marks = []; // {tick, seat, isLead, x}
  #drawn = "";

  constructor(canvas, list, events, palette) {
    Object.assign(this, { canvas, list, events, palette, film: events.film });
    this.resize();
  }

  /** Takes the size of its canvas: 0 while it is hidden. */
  resize() {
    this.width = this.canvas.clientWidth;
  }

  /** Shows what is known at tick `known` on a line that ends at tick `end`. */
  show(known, end) {
    const { width } = this;
    if (!width) return;
    const deaths = this.events.deaths.filter(({ tick }) => tick <= known);
    const leads = this.events.leads.filter(({ until }) => until <= known);
    const highlights = this.events.highlights(known);
    const wanted = [width, devicePixelRatio, end, deaths.length, leads.length, ...highlights.map(({ text }) => text)].join();
    if (wanted === this.#drawn) return;
    this.#drawn = wanted;
    const markOf = (isLead) => ({ tick, seat }) => ({ tick, seat, isLead, x: placeOf(tick, width, end) });
    this.marks = [...deaths.map(markOf(false)), ...leads.map(markOf(true))];
    this.#draw();
    this.#list(highlights);
  }

  /** Deaths are bars, changes of leader are triangles, in the colours of the players. */
  #draw() {
    const { canvas, width } = this, context = sizedContext(canvas, width, MARKS_HEIGHT);
    context.strokeStyle = getComputedStyle(canvas).getPropertyValue("--ink");
    for (const { x, ...mark } of this.marks) {
      context.fillStyle = this.palette.texts[mark.seat];
      context.beginPath();
      if (mark.isLead) {
        context.moveTo(x - 5, 0.5);
        context.lineTo(x + 5, 0.5);
        context.lineTo(x, MARKS_HEIGHT - 1);
        context.closePath();
      } else {
        context.rect(x - 1.5, MARKS_HEIGHT / 2, 3, MARKS_HEIGHT / 2);
      }
      context.lineWidth = mark.isLead ? 1 : 0.5;
      context.fill();
      context.stroke();
    }
  }

  #list(highlights) {
    this.list.replaceChildren(new Option("go to ...", ""));
    for (const { tick, text } of highlights) this.list.add(new Option(`${count(tick)}: ${text}`, tick));
    this.list.disabled = !highlights.length;
  }

  /** Returns the mark nearest to x pixels, or undefined if none is near. */
  markAt(x) { return nearestMark(this.marks, x); }

  /** Returns what the mark at x pixels stands for, empty for none. */
  textAt(x) {
    const mark = this.markAt(x);
    if (!mark) return "";
    return `tick ${count(mark.tick)}: ${mark.isLead ? `${this.film.sideName(mark.seat)} takes the lead` : `${this.film.name(mark.seat)} is out`}`;
  }
}
