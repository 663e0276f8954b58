/* translated.h: the guest as generated C: one struct, two builds of its code. */
#ifndef MB_TRANSLATED_H
#define MB_TRANSLATED_H
#include "guest.h" /* generated: w2c_guest and the module's numbers, MB_GUEST_... */

typedef struct mb_code {
  void (*instantiate)(w2c_guest *); /* fills the function table and the data segments */
  void (*initialize)(w2c_guest *);
  void (*init)(w2c_guest *);
  u32 (*mailbox)(w2c_guest *);
  u32 (*input)(w2c_guest *, u32 size);
  u32 (*start)(w2c_guest *, u32 size);
  u32 (*settle)(w2c_guest *, u32 ticket, u32 outcome, u32 size);
} mb_code;

extern const mb_code mb_code_guard;  /* relies on guard pages */
extern const mb_code mb_code_bounds; /* checks every access */

#endif
