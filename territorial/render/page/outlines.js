"use strict";
// Lines over the board: around the player's own land, and around all that can be attacked.

class Outlines {
  #shown = "";
  #paths = [];

  constructor(page) {
    this.page = page;
    this.canvas = document.createElement("canvas");
    this.canvas.id = "outlines";
    element("cells").after(this.canvas);
  }

  /** Shows the land of `seat` and the owner codes of the set `legal`, where there is anything new to show. */
  show(seat, legal) {
    const { view, frame } = this.page, box = view.box, ratio = devicePixelRatio;
    const what = `${seat};${[...legal].sort()};${frame} `;
    const where = `${view.x};${view.y};${view.scale};${box.clientWidth};${box.clientHeight};${ratio}`;
    if (this.#shown === what + where) return;
    if (!this.#shown.startsWith(what)) this.#paths = this.#trace(seat, legal);
    this.#shown = what + where;
    this.#draw(view, ratio);
  }

  hide() {
    this.canvas.hidden = true;
  }

  /** Returns the sides of cells, in cells: [around what can be attacked, around own land]. */
  #trace(seat, legal) {
    const { board, painter: { height, width } } = this.page;
    const targets = new Path2D(), own = new Path2D();
    const free = legal.has(NEUTRAL), isTarget = new Uint8Array(256);
    for (const owner of legal) isTarget[owner] = owner !== NEUTRAL; // of free land, only the front
    const pathOf = (a, b) => {
      if (a === b) return null;
      if (a === seat || b === seat) return free && (a === NEUTRAL || b === NEUTRAL) ? targets : own;
      if (a === BLOCKED || b === BLOCKED) return null; // coasts can be seen as they are
      return isTarget[a] || isTarget[b] ? targets : null;
    };
    const trace = (rows, columns, at, line) => {
      for (let row = 1; row < rows; row++) {
        let path = null, begin = 0;
        for (let column = 0; column <= columns; column++) {
          const next = column < columns ? pathOf(board[at(row - 1, column)], board[at(row, column)]) : null;
          if (next === path) continue;
          if (path) line(path, row, begin, column);
          path = next;
          begin = column;
        }
      }
    };
    trace(height, width, (row, column) => row * width + column, (path, row, from, to) => {
      path.moveTo(from, row);
      path.lineTo(to, row);
    });
    trace(width, height, (column, row) => row * width + column, (path, column, from, to) => {
      path.moveTo(column, from);
      path.lineTo(column, to);
    });
    return [targets, own];
  }

  #draw(view, ratio) {
    const { canvas } = this, context = canvas.getContext("2d");
    const width = Math.round(view.box.clientWidth * ratio), height = Math.round(view.box.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    const scale = view.scale * ratio, unit = ratio / scale;
    context.setTransform(scale, 0, 0, scale, view.x * ratio, view.y * ratio);
    context.lineCap = "square";
    const [targets, own] = this.#paths;
    for (const [path, color, pixels] of [[own, "#000c", 3], [targets, "#000a", 4], [targets, "#fff", 2]]) {
      context.strokeStyle = color;
      context.lineWidth = pixels * unit;
      context.stroke(path);
    }
  }
}
