package recurrence

import "time"

func checkCronZone(zone string) error {
	if zone == "Local" {
		return refuse(CodeTimeZoneUnknown, "cron", zone, "unknown")
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return refuse(CodeTimeZoneUnknown, "cron", zone, "unknown")
	}
	return nil
}

func checkRule(r Recurrence) error { return nil }
