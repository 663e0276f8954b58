/* translated_code.h: the functions of one build as a table, for a file that defines MB_CODE. */
#include "translated.h"

const mb_code MB_CODE = {
  .instantiate = wasm2c_guest_instantiate,
  .initialize = w2c_guest_0x5Finitialize,
  .init = w2c_guest_guest_init,
  .mailbox = w2c_guest_guest_mailbox,
  .input = w2c_guest_guest_input,
  .start = w2c_guest_guest_start,
  .settle = w2c_guest_guest_settle,
};
