// Boxes before the rows of a list: how many are checked, all of them at once, and what is asked.
"use strict";

(() => {
  const boxes = () => [...document.querySelectorAll("tbody input[form=chosen]")];

  function show() {
    const form = document.getElementById("chosen");
    if (!form) return;
    const all = boxes();
    const number = all.filter((box) => box.checked).length;
    form.classList.toggle("some", number > 0);
    form.querySelector("output").textContent = number
      ? `${number} selected; the list is not reloaded meanwhile`
      : "Select jobs by their boxes, or with x";
    for (const button of form.querySelectorAll("button")) {
      button.disabled = !number;
      const word = button.firstChild.data.trim();
      button.dataset.ask = `${word} ${number === 1 ? "the selected job" : `the ${number} selected jobs`}?`;
    }
    const every = document.querySelector("[data-ojs-choose-all]");
    every.hidden = false;
    every.checked = number > 0 && number === all.length;
    every.indeterminate = number > 0 && number < all.length;
  }

  let last = null;
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!box.matches("tbody input[form=chosen]")) return;
    const all = boxes();
    if (event.shiftKey && last?.isConnected) {
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      for (const one of all.slice(from, to + 1)) one.checked = box.checked;
    }
    last = box;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-ojs-choose-all]")) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    show();
  });
  document.addEventListener("ojs:fresh", show);
  window.addEventListener("pageshow", show); // the browser may come back to checked boxes
  show();
})();
