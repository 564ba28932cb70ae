"""Devices, which cards are in."""

import django_filters

from project.kit.api.unversioned import Editing, SaidSerializer
from scheduler.polling.models import Device


class DeviceSerializer(SaidSerializer):
    """A device. The cards in it are those of iot-cards/?device=CODE."""

    class Meta:
        model = Device
        fields = ("id", "code", "name", "version")


class DeviceFilters(django_filters.FilterSet):
    """By its code."""

    code = django_filters.CharFilter()


class Devices(Editing):
    """What cards are in."""

    queryset = Device.objects.all()
    serializer_class = DeviceSerializer
    filterset_class = DeviceFilters
    ordering = "code"
    ordering_fields = ("code", "id")
