// The box of text beside the pointer.

const REST_MS = 1000; // the tip of a player goes so long after the pointer has come to rest

/** Tells what is under the pointer, also once that has changed under a pointer that rests. */
class Tip {
  #describe = null;
  #covers = null;  // how much a box of the window covers of what is to be seen; null: nothing matters
  #isResting = false;
  #timer = 0;

  /**
   * Shows what `describe(x, y)`, given a place in the window, returns; nothing for an empty text. With
   * `covers(box)` it lies where that is least, and is gone once the pointer rests.
   */
  show({ clientX: x, clientY: y }, describe, covers = null) {
    if (x !== this.x || y !== this.y) this.#isResting = false;
    Object.assign(this, { x, y });
    this.#describe = describe;
    this.#covers = covers;
    clearTimeout(this.#timer);
    const rest = () => {
      this.#isResting = true;
      this.refresh();
    };
    if (covers) this.#timer = setTimeout(rest, REST_MS);
    this.refresh();
  }

  hide() {
    this.#describe = null;
    clearTimeout(this.#timer);
    element("tip").hidden = true;
  }

  /** Asks anew: time has passed, or the board has moved. */
  refresh() {
    if (!this.#describe) return;
    const box = element("tip"), text = this.#describe(this.x, this.y);
    box.hidden = !text || this.#isResting;
    if (box.hidden) return;
    put(box, text);
    const { left, top } = this.#place(box.offsetWidth, box.offsetHeight);
    box.style.transform = `translate(${left}px, ${top}px)`;
  }

  /** Returns the place nearest to the pointer, of those that cover least. */
  #place(width, height) {
    const { x, y } = this, within = (at) => Math.max(0, Math.min(at, innerWidth - width - 4));
    const places = (this.#covers ? [0, 40, 100, 200] : [0]).flatMap((away) => {
      const lefts = [x + 14 + away / 2, x - 14 - away / 2 - width].map(within);
      const tops = [y + 16 + away, y - 10 - away - height];
      return tops.flatMap((top) => lefts.map((left) => ({ left, top, width, height })));
    });
    const seen = places.filter(({ top }) => top >= 0 && top + height + 6 <= innerHeight);
    if (!seen.length) seen.push({ left: within(x + 14), top: 0, width, height });
    const costs = seen.map((place) => this.#covers?.(place) ?? 0);
    return seen[costs.indexOf(Math.min(...costs))];
  }
}
