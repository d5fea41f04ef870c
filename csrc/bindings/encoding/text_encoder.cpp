#include "core/encoding/text_encoder.hpp"

#include <cstring>

#include "bindings/arrays/arrays.hpp"
#include "bindings/arrays/model_arrays.hpp"
#include "bindings/arrays/splitters.hpp"
#include "bindings/arrays/texts.hpp"
#include "bindings/core.hpp"

namespace pyharness::bindings {
namespace {

py::tuple tokens(EncodedTexts&& encoded) {
  return py::make_tuple(hand_over(std::move(encoded.ids)), hand_over(std::move(encoded.offsets)));
}

// As the constructor of py::array_t, which takes three allocations more: a third of a short call.
py::object array_of(std::span<const std::uint32_t> ids) {
  const auto& numpy = py::detail::npy_api::get();
  const auto size = static_cast<Py_intptr_t>(ids.size());
  auto array = py::reinterpret_steal<py::object>(
      numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, py::dtype::of<std::uint32_t>().release().ptr(), 1,
                                  &size, nullptr, nullptr, 0, nullptr));
  if (!array) throw py::error_already_set();
  if (!ids.empty()) std::memcpy(py::detail::array_proxy(array.ptr())->data, ids.data(), ids.size_bytes());
  return array;
}

std::optional<Splitter> pattern_of(const py::object& pattern) {
  if (pattern.is_none()) return std::nullopt;
  return splitter_of(pattern);
}

class TextEncoderHandle {
 public:
  TextEncoderHandle(const py::object& model, const py::object& pattern, bool whole_pieces,
                    const std::optional<ExpansionArrays>& expansion, std::size_t cache_bytes)
      : arrays_(model),
        encoder_(
            build(arrays_.view(), whole_pieces, expansion_of(expansion), pattern_of(pattern), cache_bytes)) {}

  py::object encode(py::handle text) {
    const std::string_view bytes = utf8_of(text, [] { return std::string("text"); });
    // Giving up the interpreter and getting it back takes longer than encoding a short text.
    constexpr std::size_t kShort = 1024;
    if (bytes.size() <= kShort) return encoder_->encode(bytes, array_of);
    const py::gil_scoped_release release;
    return encoder_->encode(bytes, [](std::span<const std::uint32_t> ids) {
      const py::gil_scoped_acquire acquire;
      return array_of(ids);
    });
  }

  py::tuple encode_batch(const py::sequence& texts, int threads) {
    const Texts held(texts);
    return without_interpreter([&] { return encoder_->encode_batch(held.views(), threads); });
  }

  py::tuple encode_pieces(const py::sequence& texts, const py::array& ends, const py::array& offsets,
                          int threads) {
    const Texts held(texts);
    const PieceEnds pieces{view_1d<std::int64_t>(ends, "ends"), view_1d<std::int64_t>(offsets, "offsets")};
    return without_interpreter([&] { return encoder_->encode_pieces(held.views(), pieces, threads); });
  }

  std::size_t cached_bytes() const { return encoder_->cached_bytes(); }

 private:
  static std::unique_ptr<TextEncoder> build(const MergeModel& model, bool whole_pieces, Expansion&& expansion,
                                            std::optional<Splitter> splitter, std::size_t cache_bytes) {
    const py::gil_scoped_release release;
    return std::make_unique<TextEncoder>(model, whole_pieces, std::move(expansion), std::move(splitter),
                                         cache_bytes);
  }

  template <class Encode>
  static py::tuple without_interpreter(Encode encode) {
    EncodedTexts encoded;
    {
      const py::gil_scoped_release release;
      encoded = encode();
    }
    return tokens(std::move(encoded));
  }

  ModelArrays arrays_;
  std::unique_ptr<TextEncoder> encoder_;
};

// Called by the interpreter itself: binding the arguments would take longer than encoding a short text.
PyObject* encode(PyObject* self, PyObject* text) {
  try {
    return py::handle(self).cast<TextEncoderHandle&>().encode(text).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyMethodDef kEncode = {"encode", encode, METH_O, nullptr};

}  // namespace

void bind_text_encoder(py::module_& module) {
  py::class_<TextEncoderHandle> type(module, "TextEncoder");
  auto* const python_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.attr("encode") = py::reinterpret_steal<py::object>(PyDescr_NewMethod(python_type, &kEncode));
  type.def(py::init<const py::object&, const py::object&, bool, const std::optional<ExpansionArrays>&,
                    std::size_t>(),
           py::arg("model"), py::arg("pattern"), py::arg("whole_pieces"), py::arg("expansion"),
           py::arg("cache_bytes"))
      .def("encode_batch", &TextEncoderHandle::encode_batch, py::arg("texts"), py::arg("threads") = 1)
      .def("encode_pieces", &TextEncoderHandle::encode_pieces, py::arg("texts"), py::arg("ends"),
           py::arg("offsets"), py::arg("threads") = 1)
      .def("cached_bytes", &TextEncoderHandle::cached_bytes);
}

}  // namespace pyharness::bindings
