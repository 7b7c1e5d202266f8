"use strict";
// The line of time: marks over the slider, and the list of highlights.

const MARKS_HEIGHT = 12;
const MARKS_EDGE = 8; // half a handle of the slider: where its first tick is
const MARKS_REACH = 6; // pixels from a mark within which the pointer finds it

/** Returns where a tick is on a line of `width` pixels that ends at tick `end`, as on the slider. */
const placeOf = (tick, width, end) => MARKS_EDGE + ((width - 2 * MARKS_EDGE) * tick) / Math.max(1, end);

class Timeline {
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
    this.end = end;
    this.marks = [
      ...deaths.map(({ tick, seat }) => ({ tick, seat, isLead: false })),
      ...leads.map(({ tick, seat }) => ({ tick, seat, isLead: true })),
    ];
    this.#draw();
    this.#list(highlights);
  }

  /** Deaths are bars, changes of leader are triangles, in the colours of the players. */
  #draw() {
    const { canvas, width } = this, ratio = devicePixelRatio, context = canvas.getContext("2d");
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(MARKS_HEIGHT * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.strokeStyle = getComputedStyle(canvas).getPropertyValue("--ink");
    for (const mark of this.marks) {
      const x = this.#x(mark.tick);
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

  #x(tick) { return placeOf(tick, this.width, this.end); }

  #list(highlights) {
    this.list.replaceChildren(new Option("go to ...", ""));
    for (const { tick, text } of highlights) this.list.add(new Option(`${count(tick)}: ${text}`, tick));
    this.list.disabled = !highlights.length;
  }

  /** Returns the mark nearest to x pixels, or undefined if none is near. */
  markAt(x) {
    const away = (mark) => Math.abs(this.#x(mark.tick) - x);
    const [nearest] = [...(this.marks ?? [])].sort((a, b) => away(a) - away(b));
    return nearest && away(nearest) <= MARKS_REACH ? nearest : undefined;
  }

  /** Returns what the mark at x pixels stands for, empty for none. */
  textAt(x) {
    const mark = this.markAt(x);
    if (!mark) return "";
    return `tick ${count(mark.tick)}: ${mark.isLead ? `${this.film.sideName(mark.seat)} takes the lead` : `${this.film.name(mark.seat)} is out`}`;
  }
}
