"use strict";
// What lies over the board, in pixels of the window: attacks, donations and labels.

const PLACES_PERIOD = 100; // milliseconds from one search for places to the next while playing

class Overlay {
  hasNames = true;
  hasAttacks = true;
  #places = new LabelPlaces();
  #fronts = new FrontPlaces();
  #labelPlaces = [];
  #arrowPlaces = [];
  #giftPlaces = [];
  #due = 0;
  #drawn = "";
  isStale = false; // the places are those of a board that has changed since

  constructor(canvas, film, palette) {
    Object.assign(this, { canvas, film });
    this.context = canvas.getContext("2d");
    this.labels = new Labels(this.context, film);
    this.arrows = new Arrows(this.context, palette);
    this.gifts = new Gifts(this.context, film, palette);
  }

  /** Shows `frame` of the film, whose board is `board`, as `view` has it; `seat` (0: nobody) stands out. */
  show(now, { board, view, frame, tick, painter, isPlaying }, seat) {
    const state = [frame, Math.round(tick), view.x, view.y, view.scale, seat, this.hasNames, this.labels.hasDensity, this.hasAttacks, painter.fill[1]];
    const size = [view.width, view.height, devicePixelRatio], wanted = [...state, ...size].join();
    this.isStale ||= wanted !== this.#drawn;
    const isDue = this.isStale && (!isPlaying || now >= this.#due);
    if (wanted === this.#drawn && !isDue) return;
    this.#drawn = wanted;
    if (isDue) {
      this.find(board, view, frame);
      this.#due = now + PLACES_PERIOD;
      this.isStale = false;
    }
    this.#clear(...size);
    if (this.hasAttacks) {
      this.arrows.draw(this.#arrowPlaces, view, tick, seat);
      this.gifts.draw(this.#giftPlaces, view, tick, seat);
    }
    if (this.hasNames) this.labels.draw(this.#labelPlaces, view, frame, painter.fill);
  }

  /** Finds where labels, and arrows of attacks and donations, go. */
  find(board, view, frame) {
    const area = view.seen, { width } = view.painter;
    if (this.hasNames) this.#labelPlaces = this.#places.find(board, width, area);
    if (!this.hasAttacks) return;
    this.#arrowPlaces = this.#fronts.find(board, width, area, this.film.attacks[frame]);
    this.#giftPlaces = this.gifts.find(board, width, frame, this.hasNames ? this.#labelPlaces : []);
  }

  #clear(width, height, ratio) {
    const { canvas, context } = this, across = Math.round(width * ratio), along = Math.round(height * ratio);
    if (canvas.width !== across || canvas.height !== along) {
      canvas.width = across;
      canvas.height = along;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
  }
}
