/* Search and the light/dark button. The index is a script, not a request, so that search works from
 * a file:// address; it is loaded when the field is first used. */
(function () {
    "use strict";
    const up = document.currentScript.dataset.up;
    const field = document.querySelector(".search input");
    const list = document.querySelector(".search ol");
    const SHOWN = 12;
    let chosen = -1;

    function load(then) {
        if (window.searchIndex) return then();
        const script = document.createElement("script");
        script.src = up + "search-index.js";
        script.onload = then;
        document.head.append(script);
    }

    /* Every word must begin a word of the section; headings count more than text. */
    function score(entry, words) {
        const [, title, heading, text] = entry;
        let sum = 0;
        for (const word of words) {
            const find = new RegExp("(^|[^a-z0-9])" + word.replace(/[^a-z0-9]/g, "\\$&"), "gi");
            const inHeading = heading.match(find), inTitle = title.match(find);
            const inText = text.match(find);
            if (!inHeading && !inTitle && !inText) return 0;
            sum += (inHeading ? 20 : 0) + (inTitle ? 8 : 0)
                + (inText ? 1 + Math.min(4, inText.length) : 0);
            if (heading.toLowerCase() === word) sum += 30;
        }
        return sum;
    }

    function excerpt(text, words) {
        const at = text.toLowerCase().indexOf(words[0]);
        const from = Math.max(0, at - 40);
        return (from > 0 ? "…" : "") + text.slice(from, from + 150);
    }

    function show() {
        const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
        list.replaceChildren();
        chosen = -1;
        list.hidden = !words.length;
        if (!words.length) return;
        const found = window.searchIndex
            .map((entry) => [score(entry, words), entry])
            .filter(([points]) => points > 0)
            .sort((a, b) => b[0] - a[0])
            .slice(0, SHOWN);
        for (const [, [link, title, heading, text]] of found) {
            const item = document.createElement("li"), a = document.createElement("a");
            const small = document.createElement("small");
            a.href = up + link;
            a.textContent = heading === title ? title : title + " › " + heading;
            small.textContent = excerpt(text, words);
            a.append(small);
            item.append(a);
            list.append(item);
        }
        if (!found.length) {
            const item = document.createElement("li");
            item.className = "none";
            item.textContent = "Nothing found";
            list.append(item);
        }
    }

    field.addEventListener("input", () => load(show));
    field.addEventListener("focus", () => load(show));
    field.form.addEventListener("submit", (event) => {
        event.preventDefault();
        const links = list.querySelectorAll("a");
        if (links.length) links[Math.max(0, chosen)].click();
    });
    field.addEventListener("keydown", (event) => {
        const links = list.querySelectorAll("a");
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") field.blur(), list.hidden = true;
        if (!step || !links.length) return;
        event.preventDefault();
        chosen = (chosen + step + links.length) % links.length;
        links.forEach((a, i) => a.classList.toggle("chosen", i === chosen));
        links[chosen].scrollIntoView({ block: "nearest" });
    });
    document.addEventListener("click", (event) => {
        if (!field.form.contains(event.target) || event.target.closest("a")) list.hidden = true;
    });
    document.addEventListener("keydown", (event) => {
        if (event.key === "/" && !/input|textarea/i.test(event.target.tagName)) {
            event.preventDefault();
            field.focus();
        }
    });

    document.querySelector(".theme").addEventListener("click", () => {
        const root = document.documentElement;
        const dark = root.dataset.theme
            ? root.dataset.theme === "dark"
            : matchMedia("(prefers-color-scheme: dark)").matches;
        root.dataset.theme = dark ? "light" : "dark";
        try { localStorage.setItem("ssm2d-theme", root.dataset.theme); } catch (e) { /* private */ }
    });
})();
