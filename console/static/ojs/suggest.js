// Suggestions of filters: the server's values for a field, while the user types.
"use strict";

(() => {
  const WAIT_MS = 200; // after the last key, before the server is asked
  const PREFIX = "some-";
  const palette = document.getElementById("palette");
  if (!palette) return; // nobody is logged in
  let timer = 0;
  let request = null;

  async function fill(input) {
    request = new AbortController();
    const of = input.list.id.slice(PREFIX.length);
    const query = new URLSearchParams({ of, q: input.value.trim() });
    try {
      const answer = await fetch(`${palette.dataset.lookup}?${query}`, {
        headers: { Accept: "application/json" },
        signal: request.signal,
      });
      if (answer.redirected || !answer.ok) return; // the form works without suggestions
      const { values } = await answer.json();
      input.list.replaceChildren(...values.map((value) => Object.assign(document.createElement("option"), { value })));
    } catch (problem) {
      if (problem.name !== "AbortError") console.warn("no suggestions:", problem.message);
    }
  }

  function plan(event) {
    const input = event.target;
    if (!input.list?.id.startsWith(PREFIX)) return;
    window.clearTimeout(timer);
    request?.abort();
    timer = window.setTimeout(fill, event.type === "focusin" ? 0 : WAIT_MS, input);
  }

  document.addEventListener("focusin", plan);
  document.addEventListener("input", plan);
})();
