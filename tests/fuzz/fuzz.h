/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - what the fuzz targets share: a machine that the input lies over, and the program in it
 *
 * A target is a function that libFuzzer calls with one input after another (make fuzz); linked with
 * runner.c it is a test that runs what is kept of them (make check). What must never be ends it.
 */
#pragma once

#include <stdint.h>

#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program with @what where @is_met is false. */
void fuzz_demand(bool is_met, const char *what);

/* Not every C library lets a standard stream be another one (musl): what is printed there is seen,
 * and not judged. */
#ifdef __GLIBC__
#define fuzz_redirect(stream, file) ((stream) = (file))
#define FUZZ_HAS_OUTPUT true
#else
#define fuzz_redirect(stream, file) ((void)(file))
#define FUZZ_HAS_OUTPUT false
#endif

/* The path of a file of tests/fuzz, to be freed. */
char *fuzz_path(const char *name);

/* A copy of the input with a NUL at its end, to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Makes the machine of machine.txt in a temporary directory, where that was not done yet. */
void machine_make(void);

/*
 * Lays files over it, in the format of machine.txt: a line "@PATH", then what the file holds;
 * "@PATH absent" removes it. A path that the machine does not have stands for one that it has. Text
 * before the first such line is left out.
 */
void machine_put(const uint8_t *data, size_t size);

/* Writes one file, which stays; it may be a new one. */
void machine_put_file(const char *path, const uint8_t *data, size_t size);

/* Takes away what machine_put() has laid over. */
void machine_reset(void);

/* The path of plain file number @i of the machine, which has been made; NULL after the last. */
const char *machine_file(size_t i);

/* Makes that file as it was. */
void machine_restore_file(size_t i);

/*
 * Runs cpuoff on the machine with these arguments, NULL at their end, which must not change it.
 * Demands one of the documented exit statuses, output that a terminal can bear, and one valid
 * document with --json.
 */
void program_run(const char *const *arguments);

/* The same with one of the many things that it can do and that change nothing. */
#define ACTIONS 16
void program_act(size_t action);
