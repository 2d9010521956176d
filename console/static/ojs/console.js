// Keeps the parts marked data-live fresh, and asks before what cannot be undone.
"use strict";

const EVERY_MS = 4000;

// The visible text of a button, without the part for screen readers.
function nameOf(button) {
  return [...(button?.childNodes || [])].filter((one) => one.nodeType === Node.TEXT_NODE)
    .map((one) => one.textContent).join("").trim();
}

// The name of what an action changes; a number is the key of a row, which says nothing.
function targetOf(form, button) {
  if (button?.dataset.ask) return ""; // its own question names what it changes
  const named = button?.querySelector(".visually-hidden")?.textContent.trim();
  const id = form.elements.namedItem("id")?.value || "";
  return named || (/^\d+$/.test(id) ? "" : id);
}

// A form with a question is sent once it was answered; the reason goes with it.
document.addEventListener("submit", (event) => {
  const form = event.target;
  const question = event.submitter?.dataset.ask || form.dataset.ask;
  if (!question || form.dataset.answered) return;
  event.preventDefault();
  const dialog = document.getElementById("ask");
  const reason = dialog.querySelector("[name=reason]");
  dialog.querySelector("h2").textContent = question;
  dialog.querySelector("#ask-target").textContent = targetOf(form, event.submitter);
  dialog.querySelector("[value=yes]").textContent = nameOf(event.submitter) || "Confirm";
  reason.value = "";
  const hasOwn = [...form.elements].some((one) => one.name === "reason" && one.type !== "hidden");
  reason.parentElement.hidden = hasOwn; // the form asks for it itself
  reason.required = !hasOwn && "needsReason" in form.dataset;
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "yes") return;
    if (!hasOwn) {
      const field = Object.assign(document.createElement("input"), { type: "hidden", name: "reason" });
      field.value = reason.value;
      form.append(field);
    }
    form.dataset.answered = "yes";
    form.requestSubmit(event.submitter);
    delete form.dataset.answered; // the browser may come back to this page
  };
  dialog.showModal();
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.more[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// What scrolls can be reached by the keyboard.
function letScroll() {
  for (const box of document.querySelectorAll("pre, .scroll")) {
    const isCut = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (isCut && !box.hasAttribute("tabindex")) box.tabIndex = 0;
  }
}

function isInUse(part) {
  const selection = window.getSelection();
  const isSelecting = selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  // a form that is being filled in, or rows that are chosen
  const isAsked = part.querySelector("details.ask[open], input[form=chosen]:checked, .picked:not([hidden])");
  return isSelecting || isAsked || part.contains(document.activeElement);
}

// The pause holds for this tab, until it is ended.
function isPaused() {
  return sessionStorage.getItem("ojs.paused") === "1";
}

function showPause() {
  const button = document.getElementById("pause");
  if (!button) return;
  button.hidden = !document.querySelector("[data-live], [data-ojs-stream]");
  button.textContent = isPaused() ? "Resume updates" : "Pause updates";
}

document.getElementById("pause")?.addEventListener("click", () => {
  sessionStorage.setItem("ojs.paused", isPaused() ? "0" : "1");
  showPause();
  document.dispatchEvent(new Event("ojs:pause"));
  if (!isPaused()) turnNow();
});

async function refresh() {
  if (isPaused()) return;
  const parts = [...document.querySelectorAll("[data-live]")];
  if (document.hidden || !parts.length || document.querySelector("dialog[open]")) return;
  const answer = await fetch(window.location.href, { headers: { Accept: "text/html", "X-OJS-Update": "true" } });
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

function zoneOfUser() {
  return document.documentElement.dataset.zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// Forms take times in the zone of the user; times that a link has brought keep the zone of the link.
function zoneForms() {
  for (const zone of document.querySelectorAll("input[data-ojs-zone]")) {
    const times = [...zone.form.querySelectorAll("[data-ojs-time]")];
    if (times.some((one) => one.defaultValue)) continue;
    zone.value = zoneOfUser();
    zone.form.querySelectorAll("[data-ojs-zone-name]").forEach((one) => { one.textContent = zone.value; });
  }
}

document.addEventListener("formdata", (event) => {
  const times = [...event.target.querySelectorAll("[data-ojs-time]")];
  if (times.length && !times.some((one) => one.value)) event.formData.delete("zone");
});

// Times that name no zone are those of the user.
function localize() {
  const timeZone = zoneOfUser();
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const exact = at.toLocaleString([], { dateStyle: "medium", timeStyle: "medium", timeZone });
    if ("local" in time.dataset) time.textContent = exact;
    time.title = `${exact} ${timeZone}`;
  }
}

async function freshen() {
  try {
    await refresh();
    localize();
    letScroll();
    document.dispatchEvent(new Event("ojs:fresh"));
    document.body.classList.remove("stale");
  } catch {
    document.body.classList.add("stale");
  }
}

let isTurning = false;
let isAskedAgain = false; // something changed while the page was read

async function turnNow() {
  isAskedAgain = isTurning;
  if (isTurning) return;
  isTurning = true;
  do {
    isAskedAgain = false;
    await freshen();
  } while (isAskedAgain);
  isTurning = false;
}

// A part may name a stream of events: each of them refreshes the page at once. A page out of sight
// closes its stream, because a browser has only a few connections for all its tabs.
let waking = null;

function listen() {
  const part = document.querySelector("[data-ojs-wake]");
  if (!part || waking || document.hidden) return;
  waking = new EventSource(part.dataset.ojsWake);
  for (const name of part.dataset.ojsNames.split(" ")) waking.addEventListener(name, turnNow);
}

function stopListening() {
  waking?.close();
  waking = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return stopListening();
  listen();
  turnNow();
});
window.addEventListener("pagehide", stopListening);
window.addEventListener("pageshow", listen);

async function turn() {
  await turnNow();
  window.setTimeout(turn, EVERY_MS);
}

// On a small screen the pages are a line that scrolls: the present one is to be seen.
function showPresent() {
  const nav = document.querySelector(".top > nav");
  const present = nav?.querySelector("[aria-current]");
  if (present) nav.scrollLeft = present.offsetLeft - (nav.clientWidth - present.offsetWidth) / 2;
}

// A part that the user has closed stays closed.
for (const part of document.querySelectorAll("details[data-ojs-remembered]")) {
  const name = `ojs.open.${part.id}`;
  part.open = localStorage.getItem(name) !== "no";
  part.addEventListener("toggle", () => localStorage.setItem(name, part.open ? "yes" : "no"));
}

localize();
zoneForms();
letScroll();
showPresent();
showPause();
document.addEventListener("toggle", letScroll, true); // of details: what was folded has a size now

window.setTimeout(turn, EVERY_MS);
