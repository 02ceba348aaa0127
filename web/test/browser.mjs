/* Drives Chromium over its DevTools protocol, through a pipe: no package is needed for it. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = ["chromium", "chromium-browser"].find((name) =>
    spawnSync("sh", ["-c", `command -v ${name}`]).status === 0);

export const hasBrowser = Boolean(program);

export async function openBrowser() {
    const profile = mkdtempSync(join(tmpdir(), "ssm2d-page-"));
    const child = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu",
        "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
        "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
        `--user-data-dir=${profile}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const waiting = new Map(), listeners = [];
    let next = 1, rest = "";
    child.stdio[4].on("data", (data) => {
        rest += data;
        for (let end; (end = rest.indexOf("\0")) >= 0; rest = rest.slice(end + 1)) {
            const message = JSON.parse(rest.slice(0, end));
            if (!message.id) listeners.forEach((listener) => listener(message));
            else {
                const { resolve, reject } = waiting.get(message.id);
                waiting.delete(message.id);
                if (message.error) reject(new Error(message.error.message));
                else resolve(message.result);
            }
        }
    });
    const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
        waiting.set(next, { resolve, reject });
        child.stdio[3].write(`${JSON.stringify({ id: next++, method, params, sessionId })}\0`);
    });

    /** Opens a page: width, height, theme "light" or "dark". */
    async function openPage(url, { width, height, theme }) {
        const { targetId } = await send("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
        const call = (method, params) => send(method, params, sessionId);
        const messages = [];
        listeners.push(({ sessionId: from, method, params: p }) => {
            if (from !== sessionId) return;
            if (method === "Runtime.exceptionThrown")
                messages.push(p.exceptionDetails.exception?.description ?? p.exceptionDetails.text);
            if (method === "Runtime.consoleAPICalled")
                messages.push(p.args.map((a) => a.value ?? a.description).join(" "));
            if (method === "Log.entryAdded") messages.push(p.entry.text);
        });
        await Promise.all(["Runtime", "Log", "Page", "Accessibility"].map((d) => call(`${d}.enable`)));
        await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1,
            mobile: width < 600 });
        await call("Emulation.setEmulatedMedia", { features: [
            { name: "prefers-color-scheme", value: theme }] });
        await call("Page.navigate", { url });

        /** The value of an expression, or what its promise gives. */
        async function evaluate(expression) {
            const { result, exceptionDetails } = await call("Runtime.evaluate", { expression,
                awaitPromise: true, returnByValue: true });
            if (exceptionDetails)
                throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
            return result.value;
        }

        /** Waits until the expression is true. */
        async function until(expression, seconds = 60) {
            for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
                if (await evaluate(expression).catch(() => false)) return;
                await new Promise((resolve) => { setTimeout(resolve, 50); });
            }
            const problem = await evaluate("document.getElementById('problem')?.textContent");
            throw new Error(`still false: ${expression}; the page says ${JSON.stringify(problem)}, `
                + `the console ${JSON.stringify(messages)}`);
        }

        await until("document.documentElement.dataset.ready === 'true' "
            + "|| !document.getElementById('problem').hidden");
        return { call, evaluate, until, messages,
            async screenshot(path) {
                const { contentSize: size } = await call("Page.getLayoutMetrics");
                const { data } = await call("Page.captureScreenshot", { captureBeyondViewport: true,
                    clip: { x: 0, y: 0, width, height: Math.max(height, size.height), scale: 1 } });
                writeFileSync(path, Buffer.from(data, "base64"));
            },
            close: () => send("Target.closeTarget", { targetId }) };
    }

    return { openPage, async close() {
        await send("Browser.close").catch(() => {});
        await new Promise((resolve) => { child.on("exit", resolve); });
        rmSync(profile, { recursive: true, force: true });
    } };
}
