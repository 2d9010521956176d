"""Pages of the console, under any prefix the project chooses."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from console.actions import Act
from console.views.dead_letter import DeadLetter
from console.views.job import JobDetail
from console.views.jobs import Jobs
from console.views.overview import Overview
from console.views.queues import Queues
from console.views.workers import Workers

app_name = "ojs_console"
urlpatterns = [
    path("", Overview.as_view(), name="overview"),
    path("jobs", Jobs.as_view(), name="jobs"),
    path("jobs/<str:job_id>", JobDetail.as_view(), name="job"),
    path("queues", Queues.as_view(), name="queues"),
    path("dead-letter", DeadLetter.as_view(), name="dead_letter"),
    path("workers", Workers.as_view(), name="workers"),
    path("actions/<str:verb>", Act.as_view(), name="act"),
    path(
        "login",
        LoginView.as_view(template_name="ojs/console/login.html", redirect_authenticated_user=True),
        name="login",
    ),
    path("logout", LogoutView.as_view(next_page="ojs_console:login"), name="logout"),
]
