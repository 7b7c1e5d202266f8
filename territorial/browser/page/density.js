// Troops per cell, the strength of a player's land, as a number on a colour from dark for thin to bright for dense.

// Each is lighter than the one before, so that they are told apart without seeing colours.
const DENSITY_COLORS = ["#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725"];
const DENSITY_INKS = DENSITY_COLORS.map((color) => (isLight(pixelOf(color)) ? "#000" : "#fff"));
const DENSITY_BOUNDS = [2, 5, 12, 30, 60, 100]; // troops per cell from which the next colour counts

/** Returns {text, fill, ink} of `troops` on `land` cells; null without land. */
function densityOf(troops, land) {
  if (!land) return null;
  const density = troops / land, level = DENSITY_BOUNDS.filter((bound) => density >= bound).length;
  const text = density < 9.95 ? (Math.floor((10 * troops) / land) / 10).toFixed(1) : String(Math.floor(density));
  return { text, fill: DENSITY_COLORS[level], ink: DENSITY_INKS[level] };
}

/** Returns an empty element for `fillChip`. */
const newChip = () => newElement("span", { className: "chip", title: "troops per cell" });

/** Shows a density in a chip, which is hidden without one. */
function fillChip(chip, density) {
  put(chip, density?.text ?? "");
  if (!density || chip.dataset.fill === density.fill) return;
  chip.dataset.fill = chip.style.background = density.fill;
  chip.style.color = density.ink;
}
