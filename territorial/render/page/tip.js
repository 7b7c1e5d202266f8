"use strict";
// The box of text beside the pointer.

/** Tells what is under the pointer, also once that has changed under a pointer that rests. */
class Tip {
  #describe = null;

  /** Shows what `describe(x, y)`, given a place in the window, returns; nothing for an empty text. */
  show(event, describe) {
    this.x = event.clientX;
    this.y = event.clientY;
    this.#describe = describe;
    this.refresh();
  }

  hide() {
    this.#describe = null;
    element("tip").hidden = true;
  }

  /** Asks anew: time has passed, or the board has moved. */
  refresh() {
    if (!this.#describe) return;
    const box = element("tip"), { x, y } = this, text = this.#describe(x, y);
    box.hidden = !text;
    if (!text) return;
    put(box, text);
    const left = Math.min(x + 14, innerWidth - box.offsetWidth - 4);
    const isLow = y + 22 + box.offsetHeight > innerHeight;
    const top = isLow ? y - 10 - box.offsetHeight : y + 16;
    box.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, top)}px)`;
  }
}
