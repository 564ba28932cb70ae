"""The parts of which the HTTP API is made; they know no app.

A resource (resources.py) is a short class: rows, serializer, filters, and the object actions of the control panel that
are offered over it. All resources share bearer tokens, permissions by action, problem documents, cursor pages,
versions and idempotency keys. Nothing is imported here: the rows of models.py load before Django REST framework can.
"""
