// Keeps the parts marked data-live fresh, and asks before what cannot be undone.
"use strict";

const EVERY_MS = 4000;

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.ask;
  if (question && !window.confirm(question)) event.preventDefault();
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.more[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

function isInUse(part) {
  const selection = window.getSelection();
  const isSelecting = selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  const isAsked = part.querySelector("details.ask[open]"); // a form that is being filled in
  return isSelecting || isAsked || part.contains(document.activeElement);
}

async function refresh() {
  const parts = [...document.querySelectorAll("[data-live]")];
  if (document.hidden || !parts.length) return;
  const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
  if (answer.redirected) return window.location.reload(); // logged out meanwhile
  if (!answer.ok) throw new Error(answer.status);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts) {
    const next = fresh.getElementById(part.id);
    if (!next || isInUse(part)) continue;
    for (const open of part.querySelectorAll("details[open]")) {
      const same = open.id && next.querySelector(`#${open.id}`);
      if (same) same.open = true;
    }
    const scrolls = [...part.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    part.replaceChildren(...next.childNodes);
    part.querySelectorAll(".scroll").forEach((box, n) => { box.scrollLeft = scrolls[n] || 0; });
  }
}

// Times that name no zone are those of whoever looks.
function localize() {
  for (const time of document.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    time.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
    time.title = Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}

async function turn() {
  try {
    await refresh();
    localize();
    document.body.classList.remove("stale");
  } catch {
    document.body.classList.add("stale");
  }
  window.setTimeout(turn, EVERY_MS);
}

localize();

window.setTimeout(turn, EVERY_MS);
