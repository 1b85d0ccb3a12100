"""The service: campaigns over HTTP, whose reports are durable, counted once, and never raw.

`app` is the web application, `api/` its routes, `store/` the database, `intake` the one way in for reports,
`worker` the background work, `auth` operators and their rights, `exports` files of results, `settings` what
can be configured. It needs the extra `service`.
"""
