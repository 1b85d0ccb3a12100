/** Keeps the page of a campaign and its files, so that it opens without a connection; reports never go through it. */

const KEPT = 'crowdveil VERSION';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(clean()));
self.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== 'GET' || origin !== location.origin) return;
  if (pathname.startsWith('/static/') || /^\/c\/[0-9a-f]{32}$/.test(pathname) || /^\/api\/v1\/campaigns\/[0-9a-f]{32}$/.test(pathname)) {
    event.respondWith(freshOrKept(event.request));
  }
});

async function clean() {
  for (const name of await caches.keys()) {
    if (name.startsWith('crowdveil ') && name !== KEPT) await caches.delete(name);
  }
  await self.clients.claim();
}

async function freshOrKept(request) {
  const kept = await caches.open(KEPT);
  const known = await kept.match(request, { ignoreVary: true });
  if (known !== undefined && new URL(request.url).pathname.startsWith('/static/')) return known;
  try {
    const fresh = await fetch(request);
    if (fresh.ok) await kept.put(request, fresh.clone());
    return fresh;
  } catch (error) {
    if (known !== undefined) return known;
    throw error;
  }
}
