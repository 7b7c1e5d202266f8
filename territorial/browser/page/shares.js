// How much each of the number keys sends: one of the ten fractions of the rules, as the player likes it.

const SHARES_KEPT = "territorial.shares";
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];

/** Returns a fraction in per cent, such as "1.6 %". */
const shareText = (share) => shareOf(FRACTIONS[share]);

/** A list of the fractions for each key, and what this browser has kept of the choices. */
class Shares {
  constructor() {
    const box = element("shares"), reset = box.querySelector("button"), usual = [...FRACTIONS.keys()];
    const options = () => usual.map((share) => new Option(shareText(share), share));
    this.selects = DIGITS.map(() => newElement("select", {}, ...options()));
    reset.before(...DIGITS.map((digit, place) => newElement("label", {}, `${digit} `, this.selects[place])));
    const kept = keptUnder(SHARES_KEPT), isShare = (share) => Number.isInteger(share) && share in FRACTIONS;
    this.keys = Array.isArray(kept) && kept.length === DIGITS.length && kept.every(isShare) ? kept : usual;
    const keep = () => keepUnder(SHARES_KEPT, this.keys);
    box.addEventListener("change", keep);
    reset.addEventListener("click", () => {
      this.keys = usual;
      keep();
    });
  }

  /** The numbers of the fractions, by the place of their key. */
  get keys() { return this.selects.map(({ value }) => Number(value)); }
  set keys(shares) { shares.forEach((share, place) => { this.selects[place].value = share; }); }
}
