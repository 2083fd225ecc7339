/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep-freed.c - to be preloaded into qemu: memory is never freed
 *
 * A CPU that is unplugged from an emulated machine is freed while the listeners of its address
 * spaces still write to it (seen with qemu 7.2: the next device_add ends in a corrupted heap). With
 * its memory left alone they do no harm, and a guest lives for minutes.
 */
void free(void *memory);

void free(void *memory)
{
	(void)memory;
}
