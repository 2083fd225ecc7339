/* SPDX-License-Identifier: GPL-2.0-or-later */
/* t-mce.c - tests of machine checks in the texts of several writers */
#include "core/mce.h"

#include <string.h>

#include "tap.h"

/* "CPU/APIC/SOCKET CPU/APIC/SOCKET", "-" where it is not said. */
static const char *read_all(const char *text)
{
	static char all[1024];
	struct mces mces;
	size_t length = 0;

	all[0] = '\0';
	if (mce_parse(text, &mces))
		return "no memory";
	for (size_t i = 0; i < mces.nr; i++) {
		const long values[] = { mces.list[i].cpu, mces.list[i].apic, mces.list[i].socket };

		for (size_t j = 0; j < 3; j++) {
			const char *gap = j ? "/" : i ? " " : "";

			if (values[j] == MCE_NONE)
				length += (size_t)snprintf(all + length, sizeof(all) - length,
							   "%s-", gap);
			else
				length += (size_t)snprintf(all + length, sizeof(all) - length,
							   "%s%ld", gap, values[j]);
		}
	}
	mces_free(&mces);
	return all;
}

static void test_kernel(void)
{
	is_str(read_all("[  312.004711] mce: [Hardware Error]: CPU 14: Machine Check: 0 Bank 8: "
			"cc00008000010092\n"
			"[  312.004720] mce: [Hardware Error]: TSC 0 ADDR 1c2b3f000 MISC "
			"90010000 \n"
			"[  312.004731] mce: [Hardware Error]: PROCESSOR 0:50654 TIME 1700000000 "
			"SOCKET 1 APIC 2c microcode 2006e05\n"),
	       "14/44/1", "the kernel's log");
	is_str(read_all("mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 3: "
			"be00000000800400\n"
			"mce: [Hardware Error]: RIP !INEXACT! 10:<ffffffff81000000> {intel_idle}\n"
			"mce: [Hardware Error]: TSC 1a2b3c \n"
			"mce: [Hardware Error]: PROCESSOR 0:306c3 TIME 1700000000 SOCKET 0 APIC 4 "
			"microcode 27\n"
			"mce: [Hardware Error]: CPU 10: Machine Check Exception: 5 Bank 0: "
			"b200000000030005\n"
			"mce: [Hardware Error]: PROCESSOR 0:306c3 TIME 1700000000 SOCKET 0 APIC 5 "
			"microcode 27\n"
			"mce: [Hardware Error]: Machine check: Processor context corrupt\n"
			"Kernel panic - not syncing: Fatal machine check\n"),
	       "2/4/0 10/5/0", "two of an exception");
	is_str(read_all("[Hardware Error]: Corrected error, no action required.\n"
			"[Hardware Error]: CPU:24 (17:1:2) MC0_STATUS[Over|CE|MiscV|-|AddrV|-|-]: "
			"0xdc204000000c0135\n"),
	       "24/-/-", "the AMD decoder");
	is_str(read_all("kworker-91 [003] d..1. 91.5: mce_record: CPU: 3, MCGc/s: f000c14/0, MC7: "
			"8c00004000010090, IPID: 0, ADDR/MISC/SYND: 0/0/0, RIP: 00:<0>, TSC: 0, "
			"PROCESSOR: 0:406f1, TIME: 1700000000, SOCKET: 0, APIC: 1f\n"),
	       "3/31/0", "the trace event");
	is_str(read_all("EDAC sbridge MC1: HANDLING MCE MEMORY ERROR\n"
			"EDAC sbridge MC1: CPU 8: Machine Check Event: 0 Bank 7: 8c00004000010091\n"
			"EDAC sbridge MC1: PROCESSOR 0:306f2 TIME 1700000000 SOCKET 1 APIC 10\n"),
	       "8/16/1", "EDAC");
	is_str(read_all("mce: [Hardware Error]: PROCESSOR 0:50654 TIME 1 SOCKET 1 APIC 2c "
			"microcode 2\n"),
	       "-/44/1", "the last line alone");
	is_str(read_all("{1}[Hardware Error]:   Local APIC_ID: 0x1a\n"), "-/26/-", "APEI");
}

static void test_tools(void)
{
	is_str(read_all("           <...>-312   [002]     0.000124: mce_record:           "
			"2024-01-01 00:00:00 +0000 bank=8, status= 8c00004000010092, MEMORY "
			"CONTROLLER RD_CHANNEL2_ERR, mci=Corrected_error, mca=x, cpu_type= Intel "
			"Xeon, cpu= 14, socketid= 1, ip= 0, cs= 0, misc= 90, addr= 1c2, "
			"mcgstatus= 0, mcgcap= f000814, apicid= 2c\n"),
	       "14/44/1", "rasdaemon");
	is_str(read_all("7 2024-01-01 00:00:00 +0000 error: Corrected error, CPU 2, bank "
			"Data_CACHE, mcg mcgstatus=0, mci Corrected_error, mcgcap=0x01000c14, "
			"status=0x9020000f0120100e, walltime=0x659200b5, cpu=0x00000005, "
			"cpuid=0x000306d4, apicid=0x0000000a, socketid=0x00000001, "
			"bank=0x00000001\n"),
	       "5/10/1", "ras-mc-ctl, whose message names one, too");
	is_str(read_all("Hardware event. This is not a software error.\n"
			"MCE 0\n"
			"CPU 6 BANK 5 TSC 3a1b2c\n"
			"MISC 90 ADDR 1c2b\n"
			"TIME 1700000000 Tue Nov 14 22:13:20 2023\n"
			"MCG status:\n"
			"MCi status:\n"
			"Corrected error\n"
			"STATUS 8c00004000010092 MCGSTATUS 0\n"
			"MCGCAP 1000c14 APICID c SOCKETID 0 \n"
			"PPIN 0123456789abcdef\n"
			"MICROCODE 2e\n"
			"CPUID Vendor Intel Family 6 Model 63 Step 2\n"
			"MCE 1\n"
			"CPU 7 BANK 5 \n"
			"STATUS 8c MCGSTATUS 0\n"
			"MCGCAP 1000c14 APICID e SOCKETID 0 \n"),
	       "6/12/0 7/14/0", "mcelog");
	is_str(read_all("MCE 0\nHARDWARE ERROR. This is *NOT* a software problem!\n"
			"CPU 3 4 northbridge TSC 1a2b \n"),
	       "3/-/-", "an old mcelog");
}

static void test_others(void)
{
	is_str(read_all(""), "", "nothing");
	is_str(read_all("smpboot: CPU 2 is now offline\n"), "", "a line of something else");
	is_str(read_all("smpboot: CPU 4 is now offline\n"
			"mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 8: cc\n"
			"systemd[1]: CPU: 31ms\n"),
	       "2/-/-", "other lines around");
	is_str(read_all("mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 8: cc\n"
			"mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 8: cd\n"),
	       "2/-/-", "twice the same");
	is_str(read_all("mce: [Hardware Error]: CPU 99999999999999999999: Machine Check: 0"), "",
	       "no number of a CPU");
	is_str(read_all("mce: CPU supports 20 MCE banks\n"), "", "no machine check");
	is_str(read_all("mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 8: cc"), "2/-/-",
	       "no end of line");
}

int main(void)
{
	test_kernel();
	test_tools();
	test_others();
	return done_testing();
}
