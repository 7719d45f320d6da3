/* SPDX-License-Identifier: MIT */
/*
 * Reports what a check found; the stores judge what is fit. Called by the
 * sessions' threads.
 */
#include "src/backend/report.h"

void hf__report_tell(struct hf__report *report, const char *name,
                     const char *value, hf_verdict verdict, const char *remedy)
{
    hf_check_item item = {.size = sizeof item,
                          .name = name,
                          .value = value,
                          .verdict = verdict,
                          .remedy = verdict == HF_FINE ? NULL : remedy};

    if (!report->is_over) {
        report->is_over = report->fn(report->arg, &item) != 0;
    }
}

void hf__report_say(struct hf__report *report, const char *name,
                    const char *value, const char *remedy)
{
    hf__report_tell(report, name, value, remedy != NULL ? HF_WARN : HF_FINE,
                    remedy);
}
