"""Routes of the codec server."""

from django.urls import path

from encryption.codec_server.views import Payloads

urlpatterns = [
    path("codec/encode", Payloads.as_view(), {"direction": "encode"}),
    path("codec/decode", Payloads.as_view(), {"direction": "decode"}),
]
