/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp.h - a temporary directory that is the root of a machine, for the rooms that do open files */
#pragma once

#include "host/root.h"

/* Makes the directory, with sys/devices/system/cpu in it; removes it with all that is in it. */
const char *temp_make(void);
void temp_remove(void);

/* The path of @name in it. Valid until the fourth call after this one. */
const char *temp_path(const char *name);

/* Makes a file, with the directories above it, or a directory or link. What fails ends the program.
 */
void temp_write(const char *name, const char *text);
void temp_write_bytes(const char *name, const void *data, size_t size);
void temp_mkdir(const char *name);
void temp_symlink(const char *target, const char *name);

/* Permissions of @name, links not followed; 0 where it is not there. */
unsigned int temp_mode(const char *name);

/* The directory opened as a root. */
struct root *temp_root(void);
