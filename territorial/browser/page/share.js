// A moment to pass on: as an address, and as a picture.

/** Returns {tick, seat} of an address such as "#t=1600&follow=7"; null for what it does not say. */
function momentOf(hash) {
  const said = new URLSearchParams(hash.slice(1));
  const number = (name) => (/^\d{1,15}$/.test(said.get(name) ?? "") ? Number(said.get(name)) : null);
  return { tick: number("t"), seat: number("follow") };
}

/** Puts a moment into the address of the page, and all of that into the clipboard; returns what it did. */
async function shareLink(tick, seat) {
  try {
    history.replaceState(null, "", `#t=${tick}${seat ? `&follow=${seat}` : ""}`);
  } catch {
    // A page within a notebook has no address of its own.
  }
  return (await copied(location.href)) ? "The link to this moment has been copied." : "The address of this page now leads to this moment.";
}

/** Puts a text into the clipboard; returns whether the browser allows it. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Draws the board as it is seen, without what lies beside it, and a line of text below. */
function pictureOf({ view, overlay, painter }, caption) {
  const { x, y, scale } = view, ratio = overlay.canvas.width / view.width, line = 26;
  const left = Math.max(0, x), top = Math.max(0, y);
  const width = Math.min(view.width, x + painter.width * scale) - left;
  const height = Math.min(view.height, y + painter.height * scale) - top;
  const canvas = newElement("canvas"), style = getComputedStyle(document.documentElement);
  const context = sizedContext(canvas, width, height + line, ratio);
  context.fillStyle = style.getPropertyValue("--panel");
  context.fillRect(0, 0, width, height + line);
  const seen = [left, top, width, height].map((length) => length * ratio);
  context.drawImage(overlay.canvas, ...seen, 0, 0, width, height);
  const fillStyle = style.getPropertyValue("--ink");
  Object.assign(context, { fillStyle, font: "13px system-ui, sans-serif", textBaseline: "middle" });
  context.fillText(caption, 8, height + line / 2, width - 16);
  return canvas;
}

/** Copies a canvas as a picture, or saves it where that is not allowed; returns what has been done. */
async function sharePicture(canvas, name) {
  const data = new Promise((done) => canvas.toBlob(done, "image/png"));
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": data })]);
    return "The picture has been copied.";
  } catch {
    saveAs(await data, name);
    return `The picture has been saved as ${name}.`;
  }
}

/** Lets the browser save a Blob as a file. */
function saveAs(data, name) {
  const link = newElement("a", { href: URL.createObjectURL(data), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
