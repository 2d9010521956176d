// Keyboard shortcuts: / searches, j and k move between rows, x selects one, ? lists all. Ctrl-K is in palette.js.
"use strict";

(() => {
  const SEARCHES = ["[data-ojs-search]", "main input:is([type=search], [type=text], :not([type]))"];
  const help = document.getElementById("help");
  if (!help) return; // nobody is logged in

  function step(by) {
    const rows = [...document.querySelectorAll("main table tbody tr, main .rows li")];
    const links = rows.map((row) => row.querySelector("a[href]")).filter(Boolean);
    const now = links.indexOf(document.activeElement);
    const next = links[now < 0 ? (by > 0 ? 0 : links.length - 1) : now + by];
    next?.focus();
  }

  const keys = {
    "/": () => SEARCHES.map((one) => document.querySelector(one)).find(Boolean)?.focus(),
    j: () => step(1),
    k: () => step(-1),
    x: () => document.activeElement.closest("tr")?.querySelector("input[form=chosen]")?.click(),
    p: () => document.querySelector("#pause:not([hidden])")?.click(),
    "?": () => help.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, dialog[open]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  // The row that has the focus stands out.
  document.addEventListener("focusin", (event) => {
    document.querySelectorAll("tr.here").forEach((row) => row.classList.remove("here"));
    event.target.closest("[data-ojs-rows] tbody tr")?.classList.add("here");
  });
})();
