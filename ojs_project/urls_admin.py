"""Django's admin with the pages of these apps, beside the admin of a host project."""

from django.urls import path

from console.host_site import beside_host

urlpatterns = [path("", beside_host().urls)]
