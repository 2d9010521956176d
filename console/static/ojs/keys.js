// Keys: / goes to the search, j and k through the rows, Enter opens one, ? says so.
"use strict";

const HELP = [["/", "search"], ["j", "next row"], ["k", "row before"], ["Enter", "open the row"], ["?", "this help"]];

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]");
}

function rows() {
  return [...document.querySelectorAll("[data-ojs-rows] tbody tr")];
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, here < 0 ? (by > 0 ? 0 : all.length - 1) : here + by))];
  next.querySelector("a")?.focus();
  next.scrollIntoView({ block: "nearest" });
}

function help() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Keys");
  const list = dialog.appendChild(document.createElement("dl"));
  list.className = "facts";
  for (const [key, text] of HELP) {
    const pair = list.appendChild(document.createElement("div"));
    pair.appendChild(document.createElement("dt")).appendChild(document.createElement("kbd")).textContent = key;
    pair.appendChild(document.createElement("dd")).textContent = text;
  }
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const ACTS = {
  "/": () => document.querySelector("[data-ojs-search], [role=search] input:not([type=hidden])")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  "?": help,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const act = ACTS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// The row that has the focus stands out.
document.addEventListener("focusin", (event) => {
  document.querySelectorAll("tr.here").forEach((row) => row.classList.remove("here"));
  event.target.closest("[data-ojs-rows] tbody tr")?.classList.add("here");
});
