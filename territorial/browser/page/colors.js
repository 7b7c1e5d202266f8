// Colours: those of the film, as texts for charts and lists and as numbers for pixels.

/** Colours by owner code, in full or, but for one owner, faded. */
class Palette {
  constructor(header) { this.take(header); }

  /** Takes the colours of a film. */
  take(header) {
    this.texts = byCode(header.colors);
    this.fill = Uint32Array.from(this.texts, pixelOf);
    this.side = Uint32Array.from(byCode(header.border_colors), pixelOf);
  }

  /** Returns {fill, side}, pixels by owner code, in which `seat` (0: nobody) stands out. */
  pixels(seat) {
    if (!seat) return { fill: this.fill, side: this.side };
    return { fill: fadedBut(this.fill, seat), side: fadedBut(this.side, seat) };
  }
}

/** Spreads the colours of neutral land, seats 1, 2 ... and blocked cells over all 256 owner codes. */
function byCode(colors) {
  const texts = new Array(256).fill("#000000");
  colors.slice(0, -1).forEach((text, code) => { texts[code] = text; });
  texts[BLOCKED] = colors[colors.length - 1];
  return texts;
}

/** Returns colours of seats in `teams` as they are once teams are `dealt` anew: those of the first, second ... member stay. */
function dealtColors(colors, teams, dealt) {
  const places = (all) => all.map((team, index) => `${team}/${all.slice(0, index).filter((one) => one === team).length}`);
  const before = places(teams), seats = places(dealt).map((place) => colors[1 + before.indexOf(place)]);
  return [colors[0], ...seats, colors.at(-1)];
}

/** Returns red, green and blue, 0..255, as a pixel of an image: A, B, G, R from the highest byte. */
const pixelFrom = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
const partsOf = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];

/** Returns a colour "#rrggbb" as a pixel. */
const pixelOf = (text) => pixelFrom([1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));

/** Returns a pixel as a colour of CSS. */
const cssOf = (pixel) => `rgb(${partsOf(pixel)})`;

/** Returns pixels with all seats but one nearly grey; land and water stay what they are. */
function fadedBut(pixels, seat) {
  return pixels.map((pixel, code) => {
    if (code === seat || code === NEUTRAL || code === BLOCKED) return pixel;
    const parts = partsOf(pixel), [r, g, b] = parts, grey = 90 + (r * 0.3 + g * 0.59 + b * 0.11) * 0.3;
    return pixelFrom(parts.map((part) => Math.round(grey + (part - grey) * 0.15)));
  });
}

/** Returns the colour of a pattern on land of this one: much darker, or lighter where that is dark already. */
function inkOf(pixel) {
  const target = isLight(pixel) ? 0 : 255;
  return pixelFrom(partsOf(pixel).map((part) => Math.round(part * 0.5 + target * 0.5)));
}

/** Whether black is read better than white on a pixel of this colour. */
function isLight(pixel) {
  const [r, g, b] = partsOf(pixel).map((part) => (part / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18;
}
